// An effect that was let go and never came back: nobody can know whether the money moved.
export default async function chargeThenHang({ order }, ctx) {
  await ctx.perform({ name: 'charge', key: order }, () => new Promise(() => {}));
}
