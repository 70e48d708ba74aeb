// The tasks as poolifier wants them.
import { ThreadWorker } from 'poolifier';
import * as tasks from './tasks.mjs';

export default new ThreadWorker({ ...tasks });
