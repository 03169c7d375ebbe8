"use strict";

// Every number is the server's. Stored text is hostile: it enters the page as text nodes only (make, append).

const $ = (id) => document.getElementById(id);
const format = new Intl.NumberFormat("en");
const number = (value) => format.format(value);
const instant = (text) => text.slice(0, 19).replace("T", " ");
const FALLBACK_COUNTER = "o200k_base";
const WHY = {
  oversize: "alone over the budget",
  budget: "did not fit in the rest",
  limit: "behind the last entry of this page",
  similarity: "not similar enough",
};

let session = null; // what is open: key, ref, stats, counter, cursors of the pages so far, next, after, asked
let doomed = null; // the entry the dialog asks about
let pause = 0;

class Refusal extends Error {}

function make(tag, kind, ...children) {
  const made = document.createElement(tag);
  made.className = kind;
  made.append(...children);
  return made;
}

function bar(...shares) {
  const filled = shares.map(([kind, share]) => {
    const span = make("span", kind);
    span.style.width = `${100 * Math.min(1, share)}%`;
    return span;
  });
  const made = make("div", "bar", ...filled);
  made.setAttribute("aria-hidden", "true");
  return made;
}

function row(name, value, ...rest) {
  return make("div", "", make("dt", "", name), make("dd", "", value), ...rest);
}

function tell(problem, place = "problem") {
  $(place).textContent = problem ?? "";
  $(place).hidden = !problem;
}

async function ask(from, path, query, options = {}) {
  const url = new URL(path, location.href);
  url.search = new URLSearchParams(query);
  const headers = { Authorization: `Bearer ${from.key}` };
  let answer;
  try {
    answer = await fetch(url, { cache: "no-store", credentials: "omit", redirect: "error", headers, ...options });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Refusal("The server cannot be reached.");
  }
  const body = await answer.json().catch(() => ({ message: `The server answered ${answer.status}.` }));
  if (answer.ok) return body;
  const fields = (body.details?.fields ?? []).map((bad) => `${bad.field} ${bad.reason}`);
  const again = answer.headers.get("Retry-After");
  throw new Refusal([body.message, ...fields, again ? `Try again in ${again} s.` : ""].filter(Boolean).join(" "));
}

async function attempt(work, place = "problem") {
  tell(null, place);
  try {
    await work();
    return true;
  } catch (error) {
    if (error.name === "AbortError") return false;
    tell(error instanceof Refusal ? error.message : "The page failed to show the answer.", place);
    return false;
  }
}

// --- the memory ---

async function showStats(from) {
  const stats = await ask(from, "v1/memory/stats", { memoryRef: from.ref });
  if (from !== session) return;
  from.stats = stats;
  const figures = [
    ["entries", stats.entries],
    ["waiting to be filed", stats.pending],
    ["failed", stats.failed],
    ["in the hot view", stats.hotWindow],
  ];
  $("figures").replaceChildren(
    ...figures.map(([name, value]) => row(name, value === null ? "cold" : number(value))),
  );
  $("figures").children[2].classList.toggle("raised", stats.failed > 0);
  const costs = Object.entries(stats.costs);
  $("costs").replaceChildren(...costs.map(([name, cost]) => row(name, number(cost))));
  const kinds = Object.entries(stats.kinds);
  $("kinds").replaceChildren(...kinds.map(([kind, n]) => row(kind, number(n), bar(["kept", n / stats.entries]))));
  const counters = costs.length ? costs.map(([name]) => name) : [from.counter];
  const chosen = $("counter").value || from.counter;
  $("counter").replaceChildren(...counters.map((name) => new Option(name, name, false, name === chosen)));
  moveSlider();
}

async function advertised(from) {
  const said = await ask(from, ".well-known/openwop", {});
  return said.memory?.injectionBudget?.tokenCounter ?? FALLBACK_COUNTER;
}

// --- what fits ---

const most = () => Math.max(2, session?.stats?.costs[$("counter").value] ?? 0);

function moveSlider() {
  const given = $("budget").valueAsNumber;
  const none = Number.isNaN(given);
  const place = none ? 1000 : (1000 * Math.log(Math.max(1, given))) / Math.log(most());
  $("slider").value = Math.min(1000, Math.round(place));
  $("slider").setAttribute("aria-valuetext", none ? "no budget" : `${number(given)} ${$("counter").value}`);
}

function takeSlider() {
  $("budget").value = Math.round(most() ** ($("slider").valueAsNumber / 1000));
  moveSlider();
}

async function showPage(from) {
  if (!$("options").reportValidity()) return;
  from.asked?.abort();
  from.asked = new AbortController();
  const query = { memoryRef: from.ref, fields: "all", tokenCounter: $("counter").value, fit: $("fit").value };
  if ($("budget").value) query.tokenBudget = $("budget").value;
  if ($("limit").value) query.limit = $("limit").value;
  const cursor = from.cursors.at(-1);
  if (cursor) query.cursor = cursor;
  for (const id of ["report", "entries"]) $(id).classList.add("busy");
  const { signal } = from.asked;
  try {
    const page = await ask(from, "v1/memory/entries", query, { signal });
    if (from !== session) return;
    from.next = page.nextCursor ?? null;
    showReport(page.budget);
    showEntries(page);
  } finally {
    if (!signal.aborted) for (const id of ["report", "entries"]) $(id).classList.remove("busy");
  }
}

function showReport(budget) {
  const whole = budget.tokenBudget;
  const of = whole === undefined ? ` ${budget.counter}, no budget` : ` of ${number(whole)} ${budget.counter} used`;
  $("used").replaceChildren(make("strong", "", number(budget.used)), of);
  $("used-bar").hidden = whole === undefined;
  $("used-bar").replaceChildren(...(whole === undefined ? [] : bar(["kept", budget.used / whole]).children));
  const left = Object.entries(budget.omitted).filter(([, n]) => n > 0);
  $("verdict").replaceChildren(
    make("strong", "", number(budget.returned)),
    budget.returned === 1 ? " entry fits" : " entries fit",
    left.length ? ", and this was left out:" : ", and nothing was left out.",
  );
  const shares = [["kept", budget.returned], ...left].filter(([, n]) => n > 0);
  $("shares").replaceChildren(
    ...shares.map(([kind, n]) => {
      const share = make("span", kind);
      share.style.flexGrow = n;
      return share;
    }),
  );
  $("legend").replaceChildren(
    make("li", "kept", `${number(budget.returned)} returned`),
    ...left.map(([kind, n]) => make("li", kind, `${number(n)} ${kind}`, make("span", "why", `: ${WHY[kind]}`))),
  );
  const least = budget.smallestOmitted;
  $("smallest").textContent =
    least === undefined ? "" : `The least of what was looked at and left out costs ${number(least)}.`;
}

function showEntries(page) {
  const { counter, tokenBudget, used } = page.budget;
  const whole = Math.max(1, tokenBudget ?? used);
  let before = 0;
  const shown = page.entries.map((entry) => {
    const cost = entry.costs[counter];
    const taken = bar(["before", before / whole], ["kept", cost / whole]);
    before += cost;
    return showEntry(entry, cost, counter, taken);
  });
  $("entries").replaceChildren(...shown);
  const first = session.cursors.length === 1;
  $("nothing").hidden = page.entries.length > 0;
  $("nothing").textContent = session.stats.entries
    ? "Nothing fits here."
    : "There is nothing in this memory, or this key does not reach it.";
  $("page").textContent = first && !session.next ? "" : `Page ${number(session.cursors.length)}`;
  $("previous").disabled = first;
  $("next").disabled = !session.next;
}

function showEntry(entry, cost, counter, taken) {
  const amount = make("data", "", `${number(cost)} ${counter}`);
  amount.value = cost;
  const at = make("time", "", `${instant(entry.createdAt)} UTC`);
  at.dateTime = entry.createdAt;
  const said = [entry.kind, entry.speaker, entry.source, entry.pinned ? "pinned" : null];
  if (entry.expiresAt) said.push(`until ${instant(entry.expiresAt)} UTC`);
  const { content: _, ...rest } = entry;
  const more = make("details", "", make("summary", "", "All fields"), make("pre", "", JSON.stringify(rest, null, 2)));
  return make(
    "li",
    "",
    make("div", "cost", taken, amount),
    make("div", "content", entry.content),
    make(
      "div",
      "meta",
      at,
      ...said.filter(Boolean).map((text) => make("bdi", "", text)),
      ...entry.tags.map((tag) => make("bdi", "tag", tag)),
    ),
    make("div", "foot", more, removal(entry)),
  );
}

// --- removing ---

function removal(entry) {
  const button = make("button", "quiet", "Remove…");
  button.type = "button";
  button.setAttribute("aria-label", `Remove entry ${entry.id}`);
  button.disabled = /^\.\.?$/.test(entry.id); // a URL would swallow it and name something else
  button.addEventListener("click", () => {
    doomed = entry;
    tell(null, "confirm-problem");
    $("confirm-id").textContent = entry.id;
    $("confirm-content").textContent = entry.content.slice(0, 600);
    $("confirm").showModal();
  });
  return button;
}

async function remove() {
  const from = session;
  $("remove").disabled = true;
  const path = `v1/memory/entries/${encodeURIComponent(doomed.id)}`;
  const gone = await attempt(
    () => ask(from, path, { memoryRef: from.ref }, { method: "DELETE" }),
    "confirm-problem",
  );
  $("remove").disabled = false;
  if (!gone) return;
  $("confirm").close();
  $("memory").focus({ preventScroll: true });
  await attempt(() => showAll(from));
}

// --- events ---

async function showEvents(from) {
  const answer = await ask(from, "v1/memory/events", { memoryRef: from.ref, after: from.after, limit: "1000" });
  if (from !== session || answer.after === from.after) return;
  from.after = answer.after;
  $("events").append(
    ...answer.events.map((event) =>
      make("tr", "", ...[instant(event.at), event.type, event.memoryId].map((text) => make("td", "", text))),
    ),
  );
}

// --- the door ---

async function showAll(from) {
  await showStats(from);
  await Promise.all([showPage(from), showEvents(from)]);
}

async function open(key, ref) {
  close();
  const from = { key, ref, stats: null, counter: FALLBACK_COUNTER, cursors: [null], next: null, after: "0" };
  session = from;
  await attempt(async () => {
    if (!/^[\x21-\x7e]+$/.test(key)) throw new Refusal("This is not an API key.");
    from.counter = await advertised(from);
    $("budget").value = "1024";
    await showStats(from);
    if (from !== session) return;
    sessionStorage.setItem("foreword.key", key);
    sessionStorage.setItem("foreword.ref", ref);
    $("leave").hidden = false;
    $("memory").hidden = false;
    await Promise.all([showPage(from), showEvents(from)]);
  });
}

function close() {
  session?.asked?.abort();
  session = null;
  $("memory").hidden = true;
  $("counter").replaceChildren();
  for (const id of ["entries", "events", "figures", "costs", "kinds", "legend"]) $(id).replaceChildren();
}

function leave() {
  close();
  sessionStorage.clear();
  $("door").reset();
  $("leave").hidden = true;
  tell(null);
  $("key").focus();
}

function anew(delay) {
  clearTimeout(pause);
  const from = session;
  if (!from) return;
  from.cursors = [null];
  pause = setTimeout(() => attempt(() => showPage(from)), delay);
}

async function turn(change) {
  const from = session;
  const before = [...from.cursors];
  change(from.cursors);
  if (await attempt(() => showPage(from))) $("fit-title").scrollIntoView();
  else from.cursors = before;
}

$("door").addEventListener("submit", async (event) => {
  event.preventDefault();
  await open($("key").value.trim(), $("ref").value);
  $("memory").focus({ preventScroll: true });
});
$("options").addEventListener("submit", (event) => {
  event.preventDefault();
  anew(0);
});
$("slider").addEventListener("input", () => (takeSlider(), anew(150)));
$("budget").addEventListener("input", () => (moveSlider(), anew(250)));
$("limit").addEventListener("input", () => anew(250));
$("counter").addEventListener("change", () => (moveSlider(), anew(0)));
$("fit").addEventListener("change", () => anew(0));
$("previous").addEventListener("click", () => turn((cursors) => cursors.pop()));
$("next").addEventListener("click", () => turn((cursors) => cursors.push(session.next)));
$("refresh").addEventListener("click", () => attempt(() => showAll(session)));
$("later").addEventListener("click", () => attempt(() => showEvents(session)));
$("leave").addEventListener("click", leave);
$("keep").addEventListener("click", () => $("confirm").close());
$("remove").addEventListener("click", remove);

const kept = { key: sessionStorage.getItem("foreword.key"), ref: sessionStorage.getItem("foreword.ref") };
if (kept.key && kept.ref) {
  $("key").value = kept.key;
  $("ref").value = kept.ref;
  open(kept.key, kept.ref);
}
