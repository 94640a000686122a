import type { Operation } from '../../platform/operations/operation.entity.js';
import type { MachineDetail, MachinePortView, MachineView } from './dto/machine.dto.js';
import type { Machine } from './machine.entity.js';
import type { MachinePort } from './ports/machine-port.entity.js';

export function viewOf(machine: Machine, ipv4: string, ports: MachinePort[]): MachineView {
  const { id, name, image, status, cpu, ramMb, diskGb, createdAt } = machine;
  return { id, name, image, status, cpu, ramMb, diskGb, ipv4, ports: ports.map(portView), createdAt };
}

export function detailOf(view: MachineView, operation: Operation | null): MachineDetail {
  return { ...view, lastOperation: operation && operationView(operation) };
}

export function portView({ id, targetPort, protocol, publicPort, ip, status }: MachinePort): MachinePortView {
  return { id, targetPort, protocol, publicPort, address: ip, status };
}

function operationView({ id, type, status, errorCode, errorDetail }: Operation): MachineDetail['lastOperation'] {
  return { id, type, status, error: errorCode === null ? null : { code: errorCode, detail: errorDetail ?? '' } };
}
