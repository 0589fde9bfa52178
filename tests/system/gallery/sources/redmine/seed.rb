# The default data of a new Redmine; a person who need not change the password first; a project.
Redmine::DefaultData::Loader.load("en")
User.find_by(login: "admin").tap { |user| user.password = "secret secret"; user.must_change_passwd = false; user.save! }
Project.create!(name: "Films", identifier: "films", enabled_module_names: %w[issue_tracking wiki]).trackers = Tracker.all
Setting.attachment_max_size = 65536
Setting.rest_api_enabled = 1
