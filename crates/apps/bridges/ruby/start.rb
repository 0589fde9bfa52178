Serow::TemplateProcess.run
