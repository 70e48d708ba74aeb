// A busy loop that asks now and then whether it should stop: polite tools keep their isolate.
export default function countPrimes({ from, to }, ctx) {
  let primes = 0;
  for (let candidate = Math.max(from, 2); candidate < to; candidate += 1) {
    if (candidate % 1_000 === 0 && ctx.stopRequested()) throw ctx.signal.reason;
    if (isPrime(candidate)) primes += 1;
  }
  return primes;
}

function isPrime(number) {
  for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return false;
  return true;
}
