# Makes the database of the journal, in the file that DATABASE names.
use v5.20;
use warnings;
use DBI;

use constant {ENTRIES => 400, REMARKS => 3};

my @words = qw(cloud ticket station autumn coffee meadow street candle lake mirror ink pebble fair tower morning cherry);

sub words {
    my ($seed, $count) = @_;
    return join ' ', map { $words[($seed * 7 + $_ * ($seed % 5 + 3)) % @words] } 0 .. $count - 1;
}

my $database = DBI->connect("dbi:SQLite:dbname=$ENV{DATABASE}", '', '', {RaiseError => 1});
# Readers do not wait for whoever writes.
$database->do('PRAGMA journal_mode = WAL');
$database->do('CREATE TABLE entries (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL, written TEXT NOT NULL)');
$database->do('CREATE TABLE remarks (id INTEGER PRIMARY KEY, entry INTEGER NOT NULL REFERENCES entries, author TEXT NOT NULL, '
        . 'body TEXT NOT NULL)');
$database->do('CREATE INDEX remarks_entry ON remarks (entry)');
$database->begin_work;
for my $number (1 .. ENTRIES) {
    $database->do('INSERT INTO entries (title, body, written) VALUES (?, ?, ?)', undef, words($number, 3) . " & <$number>",
        words($number, 80), sprintf('2020-%02d-%02d', $number % 12 + 1, $number % 28 + 1));
    $database->do('INSERT INTO remarks (entry, author, body) VALUES (?, ?, ?)', undef, $number, words($_, 1), words($number + $_, 12))
        for 1 .. REMARKS;
}
$database->commit;
