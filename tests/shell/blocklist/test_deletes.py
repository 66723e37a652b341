"""What programs delete or move away, check by check."""

import pytest
from tests.support.commands import ROOT, expanded, refused

from handrail.shell.blocklist import messages
from handrail.shell.blocklist.deletes import find_deletions, input_sources, piped_operands
from handrail.shell.blocklist.packages import find_removed_packages
from handrail.shell.blocklist.permissions import find_permission_changes


def told(check, command):
    seen = expanded(command)
    return [reason for call in seen.calls for reason in check(call, seen)]


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /etc",
        "shred /etc/x",
        "rm x --no-preserve-root",
        "mv /etc x",
        "mv -t x /etc",
        "mv --target-directory=x y /etc",
        "gmv ~ x",
        "rename s/a/b/ /etc/x",
        "mmv x /etc/x",
        "find / -delete",
        "find /etc -name x -delete",
        "find ~ -delete",
        "find ~ -name '*' -delete",
        "find -L ~ -delete",
        "find -P -O3 ~ -delete",
        "find ~ -exec rm {} ';'",
        "find ~ -execdir /bin/rm {} ';'",
        "find ~ -ok truncate -s 0 {} ';'",
        "find ~ -exec sh -c '> \"$1\"' _ {} ';'",
        "find ~ -exec sh -c 'x >| $1' _ {} ';'",
        "gfind ~ -delete",
        "cd ~ && find -delete",
        "cd ~ && find . -delete",
        "fd . ~ -x rm",
        "fd . / --exec rm",
        "fdfind . .. -X rm",
        "rsync -a --delete x/ /etc",
        "rsync --del x/ ~",
        "rsync --remove-source-files ~/Documents x",
        "tar cf x --remove-files /etc",
        "zip -m x /etc",
        "zip --move x /etc",
        "7z a x -sdel /etc",
        "git -C / clean -fdx",
        "git --work-tree=/etc checkout -f",
        "git --work-tree=/etc reset --hard",
        "cd / && git clean -fdx",
        "cmake -E rm /etc/x",
        "gio trash /etc/x",
        "rclone purge /etc",
        "echo /etc | xargs rm -rf",
        "printf '%s' /etc | xargs rm -rf",
        "find / | xargs rm",
        "find . | xargs rm ../../..",
        "ls / | xargs rm -rf",
        "du /etc | xargs rm",
        "locate /etc | xargs rm",
        "xargs rm -rf <<< /etc",
        "parallel rm ::: x /etc",
    ],
)
def test_the_system_or_a_home_is_lost(command):
    assert told(find_deletions, command)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm -- -x",
        "mv x /etc",
        "mv x y",
        "rename /etc x",
        "find / -name x",
        "find ~ -name '*.o' -delete",
        "find ~ -mtime +3 -delete",
        "find . -delete",
        "find -delete",
        "find ~ -exec cat {} ';'",
        "find ~ -exec sh -c 'x 2>&1' _ {} ';'",
        "find -name /etc -delete",
        "fd . / -x cat",
        "fd x -x rm",
        "rsync -a x/ /etc",
        "rsync -a --delete /etc x",
        "rsync -a --remove-source-files x /etc",
        "tar cf x /etc",
        "zip x /etc",
        "7z a x /etc",
        "git clean -fdx",
        "git -C / status",
        "git checkout -f",
        "git --work-tree=/etc checkout",
        "git -C sub reset --hard",
        "cmake -E rm x",
        "gio list /etc",
        "rclone ls /etc",
        "echo build | xargs rm -rf",
        "find . | xargs rm",
        "find . -name '*.o' | xargs rm",
        "find ~ -name '*.o' | xargs rm",
        "ls build | xargs rm",
        "ls -l | xargs rm",
        "cat list | xargs rm",
        "xargs rm <<< build",
        "xargs rm < /etc",
        "parallel rm ::: x",
        "echo / | rm x",
        "cat /etc",
    ],
)
def test_nothing_critical_is_lost(command):
    assert not told(find_deletions, command)


@pytest.mark.parametrize(
    ("command", "operands"),
    [
        ("echo a b | xargs rm", ["a", "b"]),
        ("xargs rm <<< 'a b'", ["a", "b"]),
        ("xargs rm <<EOF\na\nb\nEOF", ["a", "b"]),
        ("parallel rm ::: a b", [":::", "a", "b"]),
        ("find a b | xargs rm", ["a", "b"]),
        ("find | xargs rm", ["./*"]),
        ("find a -name x | xargs rm", []),
        ("find / -name x | xargs rm", ["/"]),
        ("ls -l a | xargs rm", ["a/*"]),
        ("tree -d a | xargs rm", ["a"]),
        ("cat a | xargs rm", []),
        ("xargs rm < a", []),
        ("echo a | rm b", []),
    ],
)
def test_the_operands_that_xargs_reads(command, operands):
    seen = expanded(command)
    call = next(one for one in seen.calls if one.name == "rm")

    assert list(piped_operands(call, seen)) == operands


@pytest.mark.parametrize(
    ("command", "sources"),
    [
        ("a | rm", ["a"]),
        ("a | xargs rm", ["a"]),
        ("a | xargs env rm", ["a"]),
        ("rm", []),
        ("a; xargs rm", []),
        ("a | b | rm", ["b"]),
    ],
)
def test_what_a_program_reads_comes_through_its_wrappers(command, sources):
    among = expanded(command).flat.invocations
    one = next(one for one in among if one.program == "rm")

    assert [each.program for each in input_sources(one, among)] == sources


@pytest.mark.parametrize(
    ("command", "reasons"),
    [
        ("chmod 777 x", 1),
        ("chmod 0777 x", 1),
        ("chmod a+rwx x", 1),
        ("chmod u+x,a=rwx x", 1),
        ("gchmod +rwx x", 1),
        ("chmod 755 x", 0),
        ("chmod u+rwx x", 0),
        ("chmod -rwx x", 0),
        ("chmod", 0),
        ("chown 777 x", 0),
        ("chmod 4755 x", 0),
        ("chmod 4755 /opt/x", 1),
        ("chmod u+s /opt/x", 1),
        ("chmod 0755 /opt/x", 0),
        (f"chmod u+s {ROOT}/x", 0),
        ("install -m 4755 x /opt/x", 1),
        ("install --mode=u+s x /opt/x", 1),
        ("install -m 755 x /opt/x", 0),
        ("install -m 4755 x y", 0),
        ("chown me /etc/x", 1),
        ("chown me /etc /usr", 1),
        ("chgrp me ~", 1),
        ("chattr +i /etc/x", 1),
        ("echo /etc | xargs chown me", 1),
        ("chown me x", 0),
        ("cat /etc/x", 0),
    ],
)
def test_permissions(command, reasons):
    assert len(told(find_permission_changes, command)) == reasons


@pytest.mark.parametrize(
    ("command", "reasons"),
    [
        ("apt remove bash", 1),
        ("apt-get purge bash dash", 2),
        ("apt remove libc6:amd64", 1),
        ("emerge -C sys-libs/glibc", 1),
        ("snap remove core20", 1),
        ("apt remove 'lib*'", 1),
        ("apt remove '.*'", 1),
        ("pacman -Rns linux", 1),
        ("dpkg -P bash", 1),
        ("apt remove x", 0),
        ("apt remove 'x*'", 0),
        ("apt install bash", 0),
        ("remove bash", 0),
        ("rpm -qa | xargs rpm -e --nodeps", 1),
        ("rpm -qa | xargs rpm -e", 1),
        ("rpm -qa | grep x | xargs rpm -e", 0),
        ("cat list | xargs rpm -e", 0),
        ("cat list | xargs rpm -e --nodeps", 1),
        ("rpm -e --nodeps x", 0),
    ],
)
def test_packages_that_the_system_needs(command, reasons):
    assert len(told(find_removed_packages, command)) == reasons


@pytest.mark.parametrize(
    ("command", "planted"),
    [
        ("echo '* * * * * /tmp/x' | crontab -", True),
        ("echo '* * * * * sh /tmp/x' | crontab -", True),
        ("echo /var/tmp/x | at now", True),
        ("echo '* * * * * /usr/bin/x' | crontab -", False),
        ("echo '* * * * * x y /tmp/x' | crontab -", False),
        ("/tmp/x", False),
        ("env /tmp/x", False),
    ],
)
def test_programs_of_a_temporary_directory_that_start_later(command, planted):
    found = [one for one in refused(command) if one.text.startswith(messages.PLANTS_PROGRAM)]

    assert bool(found) is planted
