my ($port) = $ENV{RT_ORIGIN} =~ /:(\d+)$/;
Set($rtname, 'gallery');
Set($Organization, 'gallery');
Set($DatabaseType, 'SQLite');
Set($DatabaseName, "$ENV{RT_WORK}/rt.db");
Set($WebDomain, '127.0.0.1');
Set($WebPort, $port);
Set($WebPath, $ENV{RT_PATH});
Set($LogToSyslog, undef);
Set($LogToSTDERR, 'error');
# Keeps letters in a file rather than sends them.
Set($MailCommand, 'testfile');
Set($MaxAttachmentSize, 64_000_000);
Set($Timezone, 'UTC');
1;
