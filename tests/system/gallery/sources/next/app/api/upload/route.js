import { createHash } from "node:crypto";

export async function PUT(request) {
  const digest = createHash("sha256");
  let length = 0;
  for await (const chunk of request.body) {
    digest.update(chunk);
    length += chunk.length;
  }
  return Response.json({ length, digest: digest.digest("hex") });
}
