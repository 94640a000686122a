#!/usr/bin/env node
import 'reflect-metadata';
import { berth } from './program.js';

void berth(process.argv.slice(2)).then((code) => (process.exitCode = code));
