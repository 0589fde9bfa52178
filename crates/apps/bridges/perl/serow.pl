# Serow's bridge for PSGI.
die "not yet\n";
