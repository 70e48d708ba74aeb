// What the tour writes on: lines of at most 100 characters, and a progress bar where there is a terminal.
const { stdout } = process;
const WIDTHS = [26, 13, 34, 9, 14];
const BAR = 40;

export function say(line = '') {
  stdout.write(`${line}\n`);
}

export function row(...cells) {
  return cells
    .map((cell, index) => (index === 3 ? cell.padStart(7).padEnd(WIDTHS[index]) : cell.padEnd(WIDTHS[index])))
    .join(' ')
    .slice(0, 100)
    .trimEnd();
}

export function fileBar(title, count) {
  let done = 0;
  const draw = () => {
    const full = Math.round((done / count) * BAR);
    stdout.write(`\r${title} [${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${done}/${count}`);
  };
  return {
    tick() {
      done += 1;
      if (stdout.isTTY) draw();
    },
    end() {
      say(stdout.isTTY ? '' : `${title}: ${done} of ${count}.`);
    },
  };
}
