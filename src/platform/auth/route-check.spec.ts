import { Controller, Get, Post, UseGuards } from '@nestjs/common';
import { PanelApi } from './panel-api.decorator.js';
import { PublicApi } from './public-api.decorator.js';
import { undeclaredRoutes } from './route-check.js';
import { ScopeGuard } from './scope.guard.js';
import { Scope, Unscoped } from './scope.decorator.js';

abstract class Routes {
  @Get()
  @Scope('read')
  declared(): void {}

  @Get('other')
  forgotten(): void {}

  helper(): void {}
}

@PublicApi('things')
class Things extends Routes {
  @Post()
  alsoForgotten(): void {}
}

@PanelApi('things')
class PanelThings extends Routes {
  /** Overriding a route drops its decorators: it is no route any more. */
  override forgotten(): void {}
}

@Controller('bare')
@UseGuards(ScopeGuard)
class WithoutAuthentication {
  @Get()
  @Scope('read')
  read(): void {}
}

@Controller('login')
class Login {
  @Get()
  @Unscoped('There is no session yet')
  begin(): void {}

  @Get('end')
  end(): void {}
}

@Controller('health')
@Unscoped('Probes have no key')
class Health {
  @Get()
  read(): void {}
}

test('a route counts as declared with scope and guard, or with a reason', () => {
  expect(undeclaredRoutes(Things).sort()).toEqual(['Things.alsoForgotten', 'Things.forgotten']);
  expect(undeclaredRoutes(PanelThings)).toEqual([]);
  expect(undeclaredRoutes(WithoutAuthentication)).toEqual(['WithoutAuthentication.read']);
  expect(undeclaredRoutes(Login)).toEqual(['Login.end']);
  expect(undeclaredRoutes(Health)).toEqual([]);
});
