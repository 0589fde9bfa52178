export async function GET(request, { params }) {
  const { name } = await params;
  const { headers } = request;
  return Response.json({ name, host: headers.get("host"), for: headers.get("x-forwarded-for"), protocol: headers.get("x-forwarded-proto") });
}
