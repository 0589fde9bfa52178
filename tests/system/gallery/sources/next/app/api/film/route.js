export const dynamic = "force-dynamic";

export async function GET() {
  return new Response("0123456789abcdef".repeat(65536 * 20), { headers: { "content-type": "application/octet-stream" } });
}
