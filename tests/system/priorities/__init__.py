"""HTTP/2 priorities on slow links: the exam, its servers, and what is drawn and written of it."""
