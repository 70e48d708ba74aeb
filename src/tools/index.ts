/**
 * Every public name of `leasehold/tools`, one by one.
 *
 * Invariant: tools are descriptions: making one touches nothing, and a supervisor runs it as it runs every other tool.
 * Deliberately absent: any code.
 */

export { type CommandTerms, type CommandValue, INHERITED_ENV, type StdinContent } from './command.ts';
export { type HttpLimits, type HttpRequest, type HttpResponse, type HttpToolDefinition, httpTool } from './http.ts';
export {
  type FileEntry,
  type ListFilesInput,
  type ListFilesToolOptions,
  type ListFilesValue,
  listFilesTool,
} from './list-files.ts';
export { type PowershellToolDefinition, powershellTool } from './powershell.ts';
export { type ProcessToolDefinition, processTool } from './process.ts';
export { type ReadFileInput, type ReadFileToolOptions, type ReadFileValue, readFileTool } from './read-file.ts';
export { type ShellToolDefinition, shellTool } from './shell.ts';
export { type WriteFileInput, type WriteFileToolOptions, type WriteFileValue, writeFileTool } from './write-file.ts';
