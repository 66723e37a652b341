// Keeps a page up to date: follows the events of the server and loads the content again when
// something has changed. Without it every page can be read and every form submitted.

const REFRESH_MS = 150;
const POLL_MS = 1000;
let refreshing = false;
let waiting = false;
let followed;
let events = null;
const GUARD_MS = 500;
let questions = "";
let guard;

function main() {
  return document.getElementById("content");
}

// Replaces what differs. Nodes that are equal stay, with what the user has typed into them.
function replaceContent(text) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const found = page.getElementById("content");
  if (!found) return;
  const typed = new Map();
  for (const field of main().querySelectorAll("textarea, input[name=reason], input[name^=text-]")) {
    if (field.value) typed.set(fieldKey(field), field.value);
  }
  const focused = document.activeElement ? fieldKey(document.activeElement) : null;
  const live = document.getElementById("live-text");
  const liveText = live ? live.textContent : "";
  const nodes = [...found.children].map((node, place) => {
    const old = node.id ? document.getElementById(node.id) : main().children[place];
    return old && old.parentNode === main() && old.outerHTML === node.outerHTML ? old : node;
  });
  main().replaceChildren(...nodes);
  for (const field of main().querySelectorAll("textarea, input")) {
    const key = fieldKey(field);
    if (typed.has(key) && !field.value) field.value = typed.get(key);
    if (key === focused && field !== document.activeElement) field.focus();
  }
  showLive(liveText);
  // A notice stays until the next action; pages that are loaded again have none.
  const notice = page.getElementById("notice");
  if (notice.children.length) document.getElementById("notice").replaceWith(notice);
  document.querySelector("nav").replaceWith(page.querySelector("nav"));
  document.title = page.title;
  if (page.body.dataset.live === undefined) delete document.body.dataset.live;
  else document.body.dataset.live = page.body.dataset.live;
  document.body.toggleAttribute("data-polls", page.body.hasAttribute("data-polls"));
  guardQuestions();
  follow(page.body.dataset.live);
}

// A question may appear where another one, or something else, was about to be clicked: for a moment after
// the questions have changed, none of them can be answered with the mouse.
function guardQuestions() {
  const shown = [...main().querySelectorAll(".question")].map((one) => one.id).join(" ");
  if (shown === questions) return;
  questions = shown;
  document.documentElement.dataset.guarded = "";
  clearTimeout(guard);
  guard = setTimeout(() => { delete document.documentElement.dataset.guarded; }, GUARD_MS);
}

function fieldKey(field) {
  const form = field.form;
  return form ? `${form.getAttribute("action")} ${field.name}` : null;
}

function showLive(text) {
  const live = document.getElementById("live-text");
  if (!live) return;
  live.textContent = text;
  live.hidden = !text;
}

// Whether a button of the mouse or a finger is down: a click on a node that is replaced meanwhile is lost.
// The browser knows it also of a press that began before this script was loaded.
function isPressed() {
  return document.querySelector(":active") !== null;
}

async function refresh() {
  if (refreshing) {
    waiting = true;
    return;
  }
  refreshing = true;
  try {
    const address = new URL(location.href);
    address.searchParams.delete("notice");
    const answer = await fetch(address, { redirect: "error" });
    const text = await answer.text();
    if (isPressed()) waiting = true;
    else if (answer.ok) replaceContent(text);
  } catch {
    // The server has ended or restarts; the event stream tries again.
  } finally {
    setTimeout(() => {
      refreshing = false;
      if (waiting) {
        waiting = false;
        refresh();
      }
    }, REFRESH_MS);
  }
}

// Follows the events of a session, named as in a URL, "" for all; undefined if the page does not change by itself.
function follow(session) {
  if (session === followed) return;
  followed = session;
  if (events) events.close();
  events = null;
  if (session === undefined) return;
  events = new EventSource(`/events?session=${session}`);
  events.onmessage = (message) => {
    const event = JSON.parse(message.data);
    if (event.type === "model_text") {
      const live = document.getElementById("live-text");
      showLive((live ? live.textContent : "") + event.text);
    } else if (event.type === "model_response" || event.type === "agent_end") {
      showLive("");
      refresh();
    } else if (event.type === "reload") {
      location.reload();
    } else if (event.type !== "tool_call_output" && event.type !== "model_thinking") {
      refresh();
    }
  };
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.getAttribute("method") !== "post") return;
  event.preventDefault();
  const fields = new URLSearchParams(new FormData(form, event.submitter));
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  document.getElementById("notice").replaceChildren();
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body: fields });
    form.reset();
    const shown = new URL(answer.url);
    shown.searchParams.delete("notice");
    if (answer.redirected && shown.href !== location.href) history.pushState(null, "", shown);
    replaceContent(await answer.text());
  } catch {
    HTMLFormElement.prototype.submit.call(form);
  } finally {
    for (const button of form.querySelectorAll("button")) button.disabled = false;
  }
});

document.addEventListener("click", (event) => {
  // The keyboard has no place: its clicks, with a detail of 0, go to what has the focus.
  if (event.detail === 0 || document.documentElement.dataset.guarded === undefined) return;
  if (event.target.closest(".question")) {
    event.preventDefault();
    event.stopPropagation();
  }
}, true);
// Safari knows :active on a touch screen only where something listens to touches.
document.addEventListener("touchstart", () => {}, { passive: true });

// Browsers allow few connections to one host: a page that is not seen has none.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    if (events) events.close();
    events = null;
    followed = undefined;
  } else {
    follow(document.body.dataset.live);
    if (document.body.dataset.live !== undefined) refresh();
  }
});
// The output of a running job has no events.
setInterval(() => {
  if (!document.hidden && document.body.hasAttribute("data-polls")) refresh();
}, POLL_MS);
window.addEventListener("popstate", () => location.reload());
guardQuestions();
follow(document.body.dataset.live);
