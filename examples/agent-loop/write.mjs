// A writer that heeds the remarks of its assessor, and with endless patience never comes to an end.
export default function write({ patience, remarks }) {
  while (patience === 'endless');
  const figure = remarks.includes('name a figure') ? ' by 12 %' : '';
  const step = remarks.includes('say what follows') ? '; we hire.' : '.';
  return `Orders grew${figure}${step}`;
}
