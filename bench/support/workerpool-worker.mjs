// The tasks as workerpool wants them.
import workerpool from 'workerpool';
import * as tasks from './tasks.mjs';

workerpool.worker({ ...tasks });
