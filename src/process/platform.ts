/**
 * The backend of the platform this runs on.
 *
 * Invariant: made once; other POSIX platforms are served as macOS is, by `ps`. Deliberately absent: choosing by anything
 * but the platform.
 */
import type { ProcessBackend } from './backend.ts';
import { darwinBackend } from './darwin.ts';
import { linuxBackend } from './linux.ts';
import { windowsBackend } from './windows.ts';

/** One for all: what it shares between groups is what it reads of the system. */
export const platformBackend = (): ProcessBackend => backend;
const backend = make(process.platform);

function make(platform: NodeJS.Platform): ProcessBackend {
  switch (platform) {
    case 'linux':
    case 'android':
      return linuxBackend();
    case 'win32':
      return windowsBackend();
    default:
      return darwinBackend();
  }
}
