// An editor with the SDK for Node: node npm_client.mjs SDK ROOT TRANSCRIPT COMMAND...
// Writes every message, and what it saw, as JSON lines to TRANSCRIPT.

import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdk, root, transcript, command, ...args] = process.argv.slice(2);
const acp = await import(pathToFileURL(sdk));
const write = (line) => appendFileSync(transcript, `${JSON.stringify(line)}\n`);
const saw = (what, value) => write({ saw: what, value });

const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const raw = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const logged = (from) =>
  new TransformStream({
    transform(message, controller) {
      write({ from, message });
      controller.enqueue(message);
    },
  });
const outgoing = logged("client");
outgoing.readable.pipeTo(raw.writable).catch(() => {});
const stream = { writable: outgoing.writable, readable: raw.readable.pipeThrough(logged("agent")) };

const answers = ["yes", "no"];
let cancelAt = null;
const app = acp
  .client({ name: "test-editor" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    saw("asked", params.options.map((one) => one.optionId));
    if (cancelAt) {
      cancelAt();
      return { outcome: { outcome: "cancelled" } };
    }
    return { outcome: { outcome: "selected", optionId: answers.shift() } };
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    saw("update", params.update.sessionUpdate);
  });

await app.connectWith(stream, async (ctx) => {
  const { initialize, session } = acp.methods.agent;
  const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false } };
  const hello = await ctx.request(initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities,
  });
  saw("version", hello.protocolVersion);
  const { sessionId } = await ctx.request(session.new, { cwd: root, mcpServers: [] });
  const prompt = (text) => ctx.request(session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  saw("stop", (await prompt("Edit the file.")).stopReason);
  cancelAt = () => ctx.notify(session.cancel, { sessionId });
  saw("stop", (await prompt("And again.")).stopReason);
  cancelAt = null;
  await ctx.request(session.setMode, { sessionId, modeId: "accept-edits" });
  saw("stop", (await prompt("Once more.")).stopReason);
  await ctx.request(session.load, { sessionId, cwd: root, mcpServers: [] });
  const fork = await ctx.request(session.fork, { sessionId, cwd: root, mcpServers: [] });
  saw("forked", fork.sessionId !== sessionId);
  saw("listed", (await ctx.request(session.list, { cwd: root })).sessions.length);
  await ctx.request(session.resume, { sessionId: fork.sessionId, cwd: root, mcpServers: [] });
  await ctx.request(session.close, { sessionId: fork.sessionId });
  const failed = await ctx.request(session.prompt, { sessionId: "none", prompt: [] }).catch((error) => error.code);
  saw("refused", failed);
});
agent.stdin.end();
agent.on("exit", (code) => process.exit(code ?? 1));
