/**
 * Rejections that nobody takes, which end a host.
 *
 * Invariant: what was rejected before the call's last turn of the loop is in the list. Deliberately absent: expectations.
 */

/** Runs `act` and tells the reasons of the rejections that nobody had taken by the end of the turn after it. */
export async function unheardRejections(act: () => unknown): Promise<readonly unknown[]> {
  const reasons: unknown[] = [];
  const hear = (reason: unknown) => void reasons.push(reason);
  process.on('unhandledRejection', hear);
  try {
    await act();
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off('unhandledRejection', hear);
  }
  return reasons;
}
