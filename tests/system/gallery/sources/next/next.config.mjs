// The prefix is part of a build: basePath has no effect afterwards.
export default {
  output: "standalone",
  basePath: process.env.ROOT || "",
  outputFileTracingRoot: import.meta.dirname,
  experimental: { serverActions: { bodySizeLimit: "64mb" } },
};
