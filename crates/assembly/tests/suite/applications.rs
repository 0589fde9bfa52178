//! Names of applications in Python: modules and files.

use std::fs;

use serow_assembly::ApplicationHost;
use serow_site::Application;

#[test]
fn applications_are_files_or_modules_beside_the_settings_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join("sub")).unwrap();
    for file in ["shop.wsgi", "plain.py", "sub/site.wsgi", "config.ru"] {
        fs::write(root.join(file), "").unwrap();
    }
    // The name, and the folder and the name that the interpreter gets.
    let cases = [
        ("lib.wsgi", "", "lib.wsgi"),
        ("lib.asgi", "", "lib.asgi"),
        ("wsgi", "", "wsgi"),
        ("lib.web:app", "", "lib.web:app"),
        ("shop.wsgi", "", "shop.wsgi"),
        ("plain.py", "", "plain.py"),
        ("sub/site.wsgi", "sub", "site.wsgi"),
        ("config.ru", "", "config.ru"),
    ];
    for (name, expected_folder, expected) in cases {
        let path = root.join("serow.toml");
        fs::write(&path, format!("[[site]]\napp = {{ application = \"{name}\" }}\n")).unwrap();
        let read =
            serow_assembly::read(&path, &ApplicationHost::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let [Application::Bridged(application)] = &read.applications[..] else { panic!("{name}: no application") };
        let settings = application.settings();
        assert_eq!(settings.program.application, expected);
        assert_eq!(settings.run.folder, root.join(expected_folder), "{name}");
    }
    fs::write(root.join("serow.toml"), "[[site]]\napp = { application = \"sub/missing.wsgi\" }\n").unwrap();
    let error = serow_assembly::read(&root.join("serow.toml"), &ApplicationHost::default()).err().unwrap().to_string();
    assert!(error.contains("sub/missing.wsgi\" cannot be read"), "{error}");
}
