-- Run it by: serow check --script-test canonical_host_test.lua
return {
  script = "canonical_host.lua",
  {
    name = "the canonical address is served",
    request = { target = "/a?page=2", headers = { host = "example.com" } },
    handled = { target = "/a?page=2" },
    response = 200,
  },
  {
    name = "www leads to the canonical address",
    request = { target = "/a%20b?page=2", headers = { host = "www.example.com" } },
    handled = false,
    response = { status = 308, headers = { location = "https://example.com/a%20b?page=2" } },
  },
  {
    name = "there is no slash at the end",
    request = { target = "/a/", headers = { host = "EXAMPLE.com" } },
    response = { status = 308, headers = { location = "https://example.com/a" } },
  },
}
