RedmineApp::Application.config.secret_key_base = "of the gallery" * 5
