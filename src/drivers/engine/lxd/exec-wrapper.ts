/**
 * Runs beside the service's program, as the container's root, and starts the wanted one as the wanted user. It is the only
 * thing that can end *all* of what was started: whatever the program leaves behind is handed to it by the kernel, and it is
 * stopped before it is killed, so that nothing outruns the search. Two processes, for the engine kills the outer one alone
 * when whoever asked for it is gone. Perl because it is part of Debian's essential set.
 *
 * Arguments: user, group, folder, names of the variables to keep, and the command.
 */
export const EXEC_WRAPPER = String.raw`
use strict;
use warnings;
use Config;

my ($uid, $gid, $folder, $names, @command) = @ARGV;
my %keep = map { $_ => 1 } split /,/, $names;
delete $ENV{$_} for grep { !$keep{$_} } keys %ENV;

# What comes before anything was started counts as well.
my ($inner, $early) = (0, 0);
$SIG{TERM} = sub { $early = 1; kill 'TERM', $inner if $inner };
my ($prctl, $sigprocmask) = $Config{archname} =~ /x86_64/ ? (157, 14) : (167, 135);
# The engine starts programs with signals blocked.
my $none = pack 'Q', 0;
syscall $sigprocmask, 2, $none, 0, 8;

my $outer = $$;
$inner = fork // die "fork: $!\n";
if ($inner) {
    kill 'TERM', $inner if $early;
    leave_streams();
    while (1) {
        my $got = waitpid $inner, 0;
        exit($? & 127 ? 128 + ($? & 127) : $? >> 8) if $got == $inner;
        exit 255 if $got < 0;
    }
}

my $asked = 0;
# A wait goes on after a signal, unless that throws.
$SIG{TERM} = sub { $asked = 1; die "asked\n" if $^S };
setpgrp 0, 0;
syscall $prctl, 36, 1, 0, 0, 0;
syscall $prctl, 1, 15, 0, 0, 0;
$asked = 1 if $early || getppid() != $outer;

my $child = fork // die "fork: $!\n";
if (!$child) {
    $SIG{$_} = 'DEFAULT' for qw(TERM PIPE);
    setpgrp 0, 0;
    if (open my $out, '>', '/proc/self/oom_score_adj') { print {$out} '700' }
    chdir $folder or do { print STDERR "$folder: $!\n"; exit 126 };
    unshift @command, '/usr/bin/setpriv', "--reuid=$uid", "--regid=$gid", '--clear-groups', '--no-new-privs',
      '--inh-caps=-all', '--bounding-set=-all', '--' if $uid;
    { no warnings 'exec'; exec { $command[0] } @command }
    print STDERR "$command[0]: $!\n";
    exit 127;
}
leave_streams();

my $code = 137;
eval {
    until ($asked) {
        my $got = waitpid -1, 0;
        last if $got < 0;
        next if $got != $child;
        $code = $? & 127 ? 128 + ($? & 127) : $? >> 8;
        last;
    }
};
$SIG{TERM} = 'IGNORE';
end_all();
exit $code;

sub leave_streams {
    open STDIN, '<', '/dev/null';
    open STDOUT, '>', '/dev/null';
    open STDERR, '>', '/dev/null';
}

sub end_all {
    my %stopped;
    for (1 .. 500) {
        my @new = grep { !$stopped{$_}++ } descendants();
        last unless @new;
        kill 'STOP', @new;
    }
    for (1 .. 500) {
        my @left = descendants();
        kill 'KILL', @left;
        1 while waitpid(-1, 1) > 0;
        last unless @left;
        select undef, undef, undef, 0.002;
    }
}

sub descendants {
    my %children;
    opendir my $proc, '/proc' or return;
    for my $pid (grep { /^\d+$/ } readdir $proc) {
        open my $in, '<', "/proc/$pid/stat" or next;
        my $stat = do { local $/; <$in> } // '';
        push @{ $children{$2} }, $pid if $stat =~ /^\d+ \(.*\) (\S) (\d+) /s && $1 ne 'Z';
    }
    my (@found, @next) = ();
    @next = ($$);
    while (@next) {
        @next = map { @{ $children{$_} // [] } } @next;
        push @found, @next;
    }
    return @found;
}
`;
