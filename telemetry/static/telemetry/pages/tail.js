/* The live tail: rows from a socket, or, where none opens, from polling. It pauses, stops while the page is hidden, and says
   what was missed. */
"use strict";
{
  const POLL = 2000; // ms
  const TRY_AGAIN = 30_000; // ms, until a socket is tried again
  const NOT_ALLOWED = 4403;
  const tail = document.querySelector("[data-tail]");
  const body = tail.querySelector("tbody");
  const table = tail.querySelector("table");
  const empty = tail.querySelector("[data-tail-empty]");
  const state = document.querySelector("[data-tail-state]");
  const rates = document.querySelector("[data-tail-rates]");
  const news = document.querySelector("[data-tail-news]");
  const pause = document.querySelector("[data-pause]");
  const most = Number(tail.dataset.most);
  const query = tail.dataset.query;

  let last = Number(tail.dataset.last); // of the stored calls that were asked for
  let fromSocket = 0; // calls since then
  let waiting = []; // rows while paused, the newest first
  let waitingCount = 0;
  let isPaused = false;
  let socket = null;
  let polling = 0;
  let wasHidden = false;
  let said = "";
  const shown = new Set([...body.rows].map((row) => row.dataset.id));

  // -- Words ------------------------------------------------------------------------------------------------

  // Spoken only when the state changes, not with each figure.
  function say(key, shape, words) {
    if (said === key) return;
    said = key;
    state.innerHTML = `<svg class="shape ${shape}" aria-hidden="true"><use href="#shape-${shape}"/></svg> <span></span>`;
    state.querySelector("span").textContent = words;
  }

  function sayRates(frame) {
    const parts = [`${frame.rate.toFixed(1)} calls/s`, `${frame.failed.toFixed(1)} failed/s`];
    if (frame.behind !== undefined) sayRates.behind = `${frame.behind.toFixed(1)} s behind`;
    if (sayRates.behind) parts.push(sayRates.behind);
    if (frame.oneIn > 1) parts.push(`more than 200 calls a second: showing 1 in ${frame.oneIn}`);
    rates.textContent = parts.join(" · ");
  }

  const count = (number) => number.toLocaleString("en-US");

  function tellNews(words) {
    news.hidden = !words;
    news.querySelector("span").textContent = words;
    news.querySelector("button").hidden = !isPaused;
  }

  // -- Rows -------------------------------------------------------------------------------------------------

  function cell(name, text, className) {
    const made = document.createElement("td");
    made.dataset.label = name;
    made.className = className;
    made.append(text);
    return made;
  }

  function quiet(text) {
    const made = document.createElement("span");
    made.className = "quiet-text";
    made.textContent = text;
    return made;
  }

  function rowOf(call) {
    const row = document.createElement("tr");
    row.dataset.id = `${call.request_id}@${call.at}`;
    const head = document.createElement("th");
    head.scope = "row";
    const link = document.createElement("a");
    link.href = call.link;
    link.textContent = call.time;
    const tool = document.createElement("span");
    tool.className = "hidden";
    tool.textContent = `, ${call.tool}`;
    link.append(tool);
    head.append(link);
    const result = cell("Result", "", "result");
    result.innerHTML = `<svg class="shape ${call.state}" aria-hidden="true"><use href="#shape-${call.state}"/></svg><span class="hidden"></span> `;
    result.querySelector("span").textContent = call.word;
    result.append(call.result);
    if (call.origin) result.append(" ", quiet(call.origin));
    const key = cell("Key", call.key, "key");
    if (call.client) key.append(" ", quiet(call.client));
    row.append(head, cell("Tool", call.tool, "code tool"), result, cell("Took", call.took, "number"), cell("Tokens", call.tokens, "number"), key);
    return row;
  }

  const atOf = (row) => row.dataset.id.split("@").pop();

  // A poll finds calls that are older than those that the socket has brought meanwhile.
  function place(row) {
    const older = [...body.rows].find((each) => atOf(each) <= atOf(row));
    body.insertBefore(row, older ?? null);
  }

  function show(rows) {
    const fresh = rows.map(rowOf).filter((row) => !shown.has(row.dataset.id));
    if (!fresh.length) return;
    fresh.forEach((row) => shown.add(row.dataset.id));
    fresh.reverse().forEach(place);
    while (body.rows.length > most) {
      shown.delete(body.lastElementChild.dataset.id);
      body.lastElementChild.remove();
    }
    table.hidden = false;
    empty.hidden = true;
  }

  function take(rows, number) {
    if (!isPaused) return show(rows);
    waiting = [...rows, ...waiting].slice(0, most);
    waitingCount += number;
    tellNews(`Paused. ${count(waitingCount)} new ${waitingCount === 1 ? "call" : "calls"}.`);
  }

  // -- Polling, which also says what a socket has missed -------------------------------------------------------

  async function poll() {
    try {
      const answer = await fetch(`${tail.dataset.poll}?${query}&after=${last}`, { headers: { Accept: "application/json" } });
      if (answer.status === 403 || answer.redirected) return end();
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const found = await answer.json();
      const missed = Math.max(0, found.count - fromSocket);
      last = found.last;
      fromSocket = 0;
      take(found.rows, missed);
      if (polling) say("polling", "ok", "Polling every 2 s: no socket opens here");
      return missed;
    } catch (error) {
      say("away", "error", `Not connected: the server does not answer (${error.message}). Trying again.`);
      return 0;
    }
  }

  function startPolling() {
    if (!polling) polling = setInterval(poll, POLL);
  }

  function stopPolling() {
    clearInterval(polling);
    polling = 0;
  }

  // -- The socket -------------------------------------------------------------------------------------------

  function connect() {
    const url = new URL(`${tail.dataset.socket}?${query}`, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const mine = socket = new WebSocket(url);
    mine.addEventListener("open", async () => {
      stopPolling();
      say("connected", "ok", "Connected");
      const missed = await poll();
      if (wasHidden && missed && !isPaused) tellNews(`${count(missed)} ${missed === 1 ? "call" : "calls"} while this page was hidden${missed > most ? `; the newest ${most} are shown` : ""}.`);
      wasHidden = false;
    });
    mine.addEventListener("message", (event) => {
      const frame = JSON.parse(event.data);
      fromSocket += frame.count;
      sayRates(frame);
      if (frame.count) take(frame.rows, frame.count);
    });
    mine.addEventListener("close", (event) => {
      if (socket !== mine) return; // ended by this page
      socket = null;
      if (event.code === NOT_ALLOWED) return end();
      rates.textContent = "";
      startPolling();
      poll();
      setTimeout(() => { if (!socket && !document.hidden) connect(); }, TRY_AGAIN);
    });
  }

  function disconnect() {
    const old = socket;
    socket = null;
    old?.close();
    stopPolling();
  }

  function end() {
    disconnect();
    say("ended", "error", "Stopped: you are logged out, or may no longer see calls. Load the page again.");
  }

  // -- Pause, and hidden pages -------------------------------------------------------------------------------

  function setPaused(value) {
    isPaused = value;
    pause.textContent = isPaused ? "▸ Resume" : "‖ Pause";
    if (isPaused) return tellNews("Paused. 0 new calls.");
    const missed = waitingCount;
    show(waiting);
    tellNews(missed > most ? `${count(missed)} calls came meanwhile; the newest ${most} are shown.` : "");
    waiting = [];
    waitingCount = 0;
  }

  pause.hidden = false;
  pause.addEventListener("click", () => setPaused(!isPaused));
  news.querySelector("button").addEventListener("click", () => setPaused(false));
  // Whoever reads a call does not want it to move away.
  document.addEventListener("sluice:sheet", () => { if (!isPaused) setPaused(true); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== " " || localStorage.getItem("sluice-keys") === "off") return;
    if (event.target.closest("a, button, input, select, summary, textarea, [tabindex='0']")) return;
    event.preventDefault();
    setPaused(!isPaused);
  });
  document.addEventListener("visibilitychange", () => {
    if (said === "ended") return;
    if (document.hidden) {
      wasHidden = true;
      disconnect();
      say("hidden", "silenced", "Stopped while this page is hidden");
    } else if (!socket) {
      connect();
    }
  });
  addEventListener("pagehide", disconnect);
  if (!document.hidden) connect();
}
