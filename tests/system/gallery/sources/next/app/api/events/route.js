export const dynamic = "force-dynamic";

export async function GET(request) {
  const count = Number(request.nextUrl.searchParams.get("count"));
  let number = 0;
  const stream = new ReadableStream({
    pull(controller) {
      if (number === count) return controller.close();
      controller.enqueue(new TextEncoder().encode(`data: ${number++} ${"x".repeat(1000)}\n\n`));
    },
  });
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
}
