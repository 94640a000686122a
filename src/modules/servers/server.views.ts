import type { Operation } from '../../platform/operations/operation.entity.js';
import type { Allocation } from './allocations/allocation.entity.js';
import type { OperationReference, ServerDetail, ServerSummary } from './dto/server.dto.js';
import type { Server } from './server.entity.js';

export function summaryOf({ id, name, status, runtime }: Server): ServerSummary {
  return { id, name, status, runtime };
}

export interface DetailParts {
  server: Server;
  node: { name: string; hasBroker: boolean };
  plan: string;
  allocation: Allocation | null;
  operation: Operation | null;
}

export function detailOf({ server, node, plan, allocation, operation }: DetailParts): ServerDetail {
  return {
    id: server.id,
    uuid: server.uuid,
    name: server.name,
    description: server.description,
    status: server.status,
    runtime: server.runtime,
    image: server.image,
    limits: { ram: server.ram, disk: server.disk, cpu: server.cpu },
    autoRestart: server.autoRestart,
    node: node.name,
    plan,
    primaryAllocation: allocation && {
      id: allocation.id,
      ip: allocation.ip,
      port: allocation.port,
      protocol: allocation.protocol,
    },
    lastOperation: operation && referenceOf(operation),
    vault: { broker: node.hasBroker },
    createdAt: server.createdAt,
    updatedAt: server.updatedAt,
  };
}

function referenceOf({ id, type, status, errorCode, errorDetail }: Operation): OperationReference {
  return { id, type, status, error: errorCode === null ? null : { code: errorCode, detail: errorDetail ?? '' } };
}
