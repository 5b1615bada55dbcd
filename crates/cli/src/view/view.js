"use strict";
// The token is in the fragment, which no request contains; the address bar forgets it.
const token = location.hash.slice(1) || sessionStorage.getItem("token") || "";
sessionStorage.setItem("token", token);
history.replaceState(null, "", "/");
const $ = (id) => document.getElementById(id);
const short = (x) => (x === null ? "–" : Number.isInteger(x) && Math.abs(x) < 1e5 ? String(x) : Math.abs(x) >= 1e5 || (x !== 0 && Math.abs(x) < 1e-3) ? x.toExponential(2) : x.toPrecision(4));
const count = (n) => n.toLocaleString("en-US");
const svg = (name, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

function figure(number) {
  const all = number.traces.flat().filter((x) => x !== null);
  const low = Math.min(...all), high = Math.max(...all), span = high - low || 1;
  const picture = svg("svg", { viewBox: "0 0 400 100", preserveAspectRatio: "none", role: "img", "aria-label": "trace of " + number.name });
  number.traces.forEach((trace, chain) => {
    const x = (k) => (400 * k) / Math.max(trace.length - 1, 1);
    const points = trace.map((y, k) => (y === null ? null : x(k).toFixed(1) + "," + (98 - (96 * (y - low)) / span).toFixed(1)));
    picture.append(svg("polyline", { points: points.filter((p) => p !== null).join(" "), class: "c" + (chain % 4) }));
  });
  const caption = document.createElement("figcaption");
  const name = document.createElement("b");
  name.textContent = number.name;
  const facts = document.createElement("span");
  // What the top and the bottom of the picture are.
  const range = document.createElement("div");
  range.className = "range";
  for (const end of all.length ? [high, low] : []) {
    const text = document.createElement("span");
    text.textContent = short(end);
    range.append(text);
  }
  const about = number.is_sample ? "~" : "";
  facts.textContent = `mean ${short(number.mean)}  sd ${short(number.sd)}  R-hat ${about}${short(number.rhat)}  ESS ${about}${number.ess === null ? "–" : Math.round(number.ess)}`;
  if (number.rhat !== null && number.rhat > 1.01) facts.className = "bad";
  caption.append(name, facts);
  const box = document.createElement("figure");
  const frame = document.createElement("div");
  frame.className = "frame";
  frame.append(picture, range);
  box.append(caption, frame);
  return box;
}

function show(run) {
  $("name").textContent = run.run;
  document.title = run.run;
  const epoch = run.epoch === null ? "" : `epoch ${run.epoch}, `;
  $("state").textContent = epoch + (run.finished ? "finished" : `unfinished, ${count(run.wanted)} draws per chain wanted`);
  const rows = run.chains.map((chain, k) => {
    const row = document.createElement("tr");
    for (const text of [k, chain.phase, count(chain.draws), chain.rate >= 100 ? count(Math.round(chain.rate)) : short(chain.rate)]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      row.append(cell);
    }
    // The colour of its traces.
    row.firstChild.className = "c" + (k % 4);
    return row;
  });
  // A run that is over has no speed.
  $("chains").classList.toggle("over", run.finished);
  $("chains").tBodies[0].replaceChildren(...rows);
  $("numbers").replaceChildren(...run.numbers.slice(0, 60).map(figure));
}

// Server-sent events by fetch, which can send the token; EventSource cannot.
async function follow() {
  const headers = { Authorization: "Bearer " + token };
  for (;;) {
    try {
      const first = await fetch("/snapshot", { headers });
      if (first.status === 401) {
        $("state").textContent = "the address lacks the token: open the one that smidgen has printed";
        return;
      }
      show(await first.json());
      const answer = await fetch("/events", { headers });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        const ends = text.lastIndexOf("\n\n");
        if (ends < 0) continue;
        const last = text.slice(0, ends).split("\n\n").pop();
        text = text.slice(ends + 2);
        if (last.startsWith("data: ")) show(JSON.parse(last.slice(6)));
      }
    } catch (error) {
      // Cut off: it comes back, or it does not.
    }
    $("state").textContent = $("state").textContent.replace(/ \(cut off\)$/, "") + " (cut off)";
    await new Promise((wake) => setTimeout(wake, 2000));
  }
}
follow();
