/**
 * A tool on the host's own loop that goes through hops, and a rig whose authorizer is told when to answer about them.
 *
 * Invariant: runs are allowed at once; each hop stays open until it is answered. Deliberately absent: expectations.
 */
import { z } from 'zod';
import type { Authorizer, SupervisorOptions } from '../../src/model/option-shapes.ts';
import type { Tool } from '../../src/model/tool.ts';
import type { Effects, Hop, InlineContext } from '../../src/model/work.ts';
import { requestRig } from '../run/request-rig.ts';
import { fakeTool } from '../support/fake-host.ts';
import { patientAuthorizer } from './asking.ts';

export const HOP: Hop = { url: 'https://example.org/next', method: 'GET', number: 1 };

/** A tool whose body is a function of the test. */
export function inlineTool(serve: (context: InlineContext) => Promise<unknown>, effects: Effects = 'declared'): Tool {
  const { input, outputRules } = fakeTool();
  return Object.freeze<Tool>({
    name: 'inline',
    work: Object.freeze({
      kind: 'inline',
      occupiesPool: false,
      serve: (_: unknown, context: InlineContext) => serve(context),
    }),
    input,
    output: z.unknown(),
    effects,
    isolation: 'inline',
    permissions: null,
    outputRules,
    runTimeoutMs: null,
    graceMs: null,
    secrets: (given) => (typeof given === 'string' ? [given] : []),
  });
}
/** A rig whose authorizer lets runs go and waits to be told about hops. */
export async function patientAboutHops(options: Partial<SupervisorOptions> = {}) {
  const { authorize: ask, asked } = patientAuthorizer();
  const authorize: Authorizer = (request, context) =>
    request.kind === 'run' ? { allow: true } : ask(request, context);
  return { ...(await requestRig({}, { authorize, ...options })), asked };
}
/** What a tool threw when it passes it on, or 'gone on'. */
export const told = (work: Promise<unknown>) =>
  work.then(
    () => 'gone on',
    (error: unknown) => error,
  );
