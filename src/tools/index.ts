/**
 * Every public name of `leasehold/tools`, one by one.
 *
 * Invariant: tools are descriptions: making one touches nothing, and a supervisor runs it as it runs every other tool.
 * Deliberately absent: any code.
 */

export { type CommandTerms, type CommandValue, INHERITED_ENV, type StdinContent } from './command.ts';
export { type PowershellToolDefinition, powershellTool } from './powershell.ts';
export { type ProcessToolDefinition, processTool } from './process.ts';
export { type ShellToolDefinition, shellTool } from './shell.ts';
