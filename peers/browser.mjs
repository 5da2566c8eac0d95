// A browser as far as signing in needs one: it follows redirects and keeps cookies.

const MAX_STEPS = 20;

/** Opens a page and follows it to `end`; returns what `end` is told. */
export async function browse(start, end) {
  const cookies = new Map();
  let where = new URL(start);
  for (let step = 0; step < MAX_STEPS; step += 1) {
    if (where.href.startsWith(end)) return where.searchParams;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(where, { redirect: "manual", headers: { cookie } });
    for (const set of answer.headers.getSetCookie()) {
      const [name, value] = set.split(";")[0].split("=");
      cookies.set(name, value);
    }
    const next = answer.headers.get("location");
    if (!next) throw new Error(`${where}: HTTP ${answer.status}: ${(await answer.text()).slice(0, 500)}`);
    where = new URL(next, where);
  }
  throw new Error(`${start} led nowhere`);
}
