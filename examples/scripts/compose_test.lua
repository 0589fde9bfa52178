-- Run it by: serow check --script-test compose_test.lua
return {
  script = "compose.lua",
  {
    name = "both services are in the page",
    request = "/pages/7",
    fetch = {
      ["catalogue/products/7"] = { body = '{"name":"lamp"}' },
      ["warehouse/stock/7"] = { body = "3" },
    },
    handled = false,
    response = { status = 200, headers = { content_type = "application/json" } },
  },
  {
    name = "a service that is down is left out",
    request = "/pages/8",
    fetch = { ["catalogue/products/8"] = 404, ["warehouse/stock/8"] = false },
    response = { body = '{"product":null,"stock":null}' },
  },
  { name = "other paths are not found", request = "/other", response = 404 },
}
