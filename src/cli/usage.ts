/**
 * What the binary says about itself: its usage text and its exit codes.
 *
 * Invariant: each status of a result has exactly one exit code, and 2 means that nothing was started.
 * Deliberately absent: parsing (`arguments.ts`) and anything about a particular run (`report.ts`).
 */
import type { Status } from '../model/stop.ts';

/** The exit code of a command line that cannot be understood. */
export const EXIT_USAGE = 2;

/** The exit code of each status. 75, 77, 124 and 130 are what sysexits, `timeout` and shells use for the like. */
export const EXIT_CODES: Readonly<Record<Status, number>> = Object.freeze({
  succeeded: 0,
  failed: 1,
  rejected: 75,
  denied: 77,
  'timed-out': 124,
  indeterminate: 125,
  interrupted: 129,
  cancelled: 130,
});

/** Those of `log` and `recover`, beside 0. */
export const LOG_EXIT_CODES = Object.freeze({
  /** The file cannot be read or written, or something could not be decided. */
  failed: 1,
  /** Somebody has the log open. */
  inUse: 75,
  /** `recover` only: an effect is held, since nobody knows whether it happened. */
  held: 125,
});

export const USAGE = `leasehold run MODULE [options]
leasehold exec [options] -- COMMAND [ARGS...]
leasehold log FILE [--run ID] [--open] [--json]
leasehold recover FILE [--apply] [--json]

run calls an exported function of MODULE (a path, a file URL or a package) under a lease in a thread of its own.
  --export NAME             the export to run (default: default)
  --input JSON | @FILE | -  its input: JSON text, a file that holds it, or standard input

exec runs COMMAND under a lease in a session of its own, without a shell, with the environment it is given here.
Everything after -- is the command's. Processes it leaves behind are ended. Its value is its exit code and signal.
  --cwd DIR                 where it runs (default: here)
  --ok-exit-codes 0,1       exit codes that are a success (default: 0)
  --stdin                   pass standard input on; without it the command has none
  --passthrough             its standard output, as text and up to 256 MiB, goes to standard output instead of the value

run and exec:
  --run-timeout MS          stop it when it has run this long (default: 30000)
  --operation-timeout MS    stop it when the whole request took this long (default: none)
  --grace MS                how long it may take to stop by itself (default: 2000)
  --effects none|opaque     what it may do to the outside world (default: opaque)
  --secret-env NAME         hide the value of this environment variable wherever it shows; repeatable
  --log FILE.db             keep the record in this event log, and decide first what lost hosts left open in it;
                            inputs and values over 2 KiB go to the directory FILE.db.blobs
  --json                    print the whole result instead of the value

log shows the entries of an event log that nobody has open.
  --run ID                  only those of one run
  --open                    only those of attempts without an end, or with an effect without a known one
  --json                    one entry a line, as JSON

recover tells what is to be decided of the attempts that lost hosts left open, and of their effects.
  --apply                   write it
  --json                    the report as JSON

  --help, --version

Progress, output and a summary go to standard error; the value goes to standard output.
Ctrl-C cancels, a second Ctrl-C forces the end.

Exit codes: 0 succeeded, 1 failed, 2 usage, 75 rejected, 77 denied, 124 timed-out, 125 indeterminate,
129 interrupted, 130 cancelled. Of log and recover: 0 done, 1 it could not be read or written, 2 usage,
75 somebody has the log open; of recover also 125 nobody knows whether some effect happened.
`;
