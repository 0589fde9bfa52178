// Flows that are edited below the path of ROOT.
module.exports = {
  httpAdminRoot: `${process.env.ROOT || ''}/`, httpNodeRoot: `${process.env.ROOT || ''}/api`, uiHost: '127.0.0.1', uiPort: process.env.PORT,
  flowFile: 'flows.json', credentialSecret: 'of the gallery', telemetry: { enabled: false },
  externalModules: { autoInstall: false, palette: { allowInstall: false } }
}
