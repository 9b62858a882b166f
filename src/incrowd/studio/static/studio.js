// What pages do by themselves: hear of changes on disk, copy lines, take dropped files. Everything else is links and forms.
"use strict";

const body = document.body;
let known = JSON.parse(body.dataset.versions);
let source = null;

function heard(event) {
  const now = JSON.parse(event.data);
  document.getElementById("gone").hidden = true;
  for (const name of Object.keys(now)) {
    if (now[name] !== known[name]) body.dispatchEvent(new CustomEvent("studio:" + name));
  }
  known = now;
}

// Only the tab that is seen listens: a browser has few connections to one server.
function listen() {
  if (document.hidden) { source?.close(); source = null; return; }
  if (source) return;
  source = new EventSource(body.dataset.events);
  source.addEventListener("versions", heard);
  source.addEventListener("error", () => { document.getElementById("gone").hidden = false; });
}
document.addEventListener("visibilitychange", listen);
addEventListener("pagehide", () => { source?.close(); source = null; });
addEventListener("pageshow", listen);

// A form that is being filled in is not replaced; the page says that there is something newer.
body.addEventListener("studio:project", () => { document.getElementById("elsewhere").hidden = false; });

// What a screen reader is told: a step begins, a job has ended.
const said = new Map();
function note(part) {
  if (said.has(part.id) && said.get(part.id) !== part.dataset.say) document.getElementById("say").textContent = part.dataset.say;
  said.set(part.id, part.dataset.say);
}
const noteAll = () => document.querySelectorAll("[data-say]").forEach(note);
noteAll();
body.addEventListener("htmx:afterSettle", noteAll);

// What was opened in a part that is replaced stays open; htmx itself keeps the focus on what has an id.
let opened = [];
body.addEventListener("htmx:beforeSwap", (event) => { opened = [...event.detail.target.querySelectorAll("details[open] > summary[id]")].map((one) => one.id); });
body.addEventListener("htmx:afterSwap", () => opened.forEach((id) => document.getElementById(id)?.parentElement.setAttribute("open", "")));

document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

const inWords = (s) => s < 10 ? s.toFixed(1) + " s" : s < 120 ? s.toFixed(0) + " s" : s < 7200 ? (s / 60).toFixed(0) + " min" : (s / 3600).toFixed(1) + " h";
setInterval(() => {
  for (const one of document.querySelectorAll("[data-since]")) one.textContent = inWords(Math.max(0, Date.now() / 1000 - one.dataset.since));
}, 500);

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});

// What was typed and not saved is not left behind without a question.
document.addEventListener("input", (event) => {
  const form = event.target.closest?.("[data-unsaved]");
  if (form) form.dataset.unsaved = "yes";
});
document.addEventListener("submit", (event) => { if (event.target.dataset.unsaved) event.target.dataset.unsaved = "no"; });
addEventListener("beforeunload", (event) => { if (document.querySelector("[data-unsaved=yes]")) event.preventDefault(); });

// A form is sent once.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  const buttons = event.target.querySelectorAll("button");
  setTimeout(() => buttons.forEach((button) => { button.disabled = true; }));
  setTimeout(() => buttons.forEach((button) => { button.disabled = false; }), 5000);
});

const drop = document.getElementById("drop");
if (drop) {
  const file = document.getElementById("file"), error = document.getElementById("e-file"), bar = document.getElementById("uploaded");
  const refuse = (text) => { error.textContent = text; error.hidden = false; bar.hidden = true; file.value = ""; };
  const send = (chosen) => {
    error.hidden = true;
    if (chosen.size > drop.dataset.largest) {
      refuse(`a file that is dropped here may have ${drop.dataset.largestWords}: give the path of a larger one, it is read where it is`);
      return;
    }
    const request = new XMLHttpRequest();
    request.open("PUT", (drop.dataset.put ?? "/projects/dropped") + "?name=" + encodeURIComponent(chosen.name));
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => { bar.hidden = false; bar.value = event.loaded / event.total; });
    request.addEventListener("load", () => request.status === 200 ? location.assign(request.response.see) : refuse(request.response?.error ?? "it was not taken: try again, or give its path"));
    request.addEventListener("error", () => refuse("the file cannot be read, or the studio does not answer: try again, or give its path"));
    request.send(chosen);
  };
  file.addEventListener("change", () => { if (file.files[0]) send(file.files[0]); });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.toggle("over", kind === "dragover"); });
  }
  drop.addEventListener("drop", (event) => { if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]); });
}
