"""Overwritten system files, disks and mounts, check by check."""

import pytest
from tests.support.commands import ROOT, WHERE, expanded

from handrail.shell.blocklist.writes import (
    find_disk_damage,
    find_output_overwrites,
    find_overwrites,
    find_redirect_overwrites,
    find_system_writes,
)


def told(check, command):
    seen = expanded(command)
    return [reason for call in seen.calls for reason in check(call, seen)]


@pytest.mark.parametrize(
    "command",
    [
        "dd if=x of=/etc/x",
        "gdd of=/etc/x",
        "tee /etc/x",
        "truncate -s 0 /etc/x",
        "cp x /etc/x",
        "cp x y /etc",
        "mv x /etc",
        "ln -s x /usr/bin/x",
        "install -t /usr/bin x",
        "cp --target-directory=/usr/bin x",
        "scp x /etc/x",
        "sed -i s/a/b/ /etc/x",
        "sed -ni s/a/b/ /etc/x",
        "sed --in-place s/a/b/ /etc/x",
        "gsed -i.bak s/a/b/ /etc/x",
        "perl -pi -e x /etc/x",
        "ruby -i -e x /etc/x",
        "vim -c wq /etc/x",
        "ex -s /etc/x",
        "curl -o /etc/x u",
        "curl --output /etc/x u",
        "wget -O /etc/x u",
        "wget -P /etc u",
        "wget --directory-prefix=/etc u",
        "pip install -t /usr/lib x",
        "pip3 install --target=/usr/lib x",
        "pip install --prefix /usr x",
        "npm install --prefix /usr x",
        "uv pip install --root /usr x",
        "tar xf x -C /usr",
        "tar -xf x -C /usr",
        "tar --extract -f x --directory=/usr",
        "bsdtar -x -f x -C /usr",
        "unzip x -d /usr",
        "unsquashfs -d /usr x",
        "7z x -o/usr x",
        "cpio -i -D /usr",
        "cd /usr && cpio -i",
        "git clone x /usr/x",
    ],
)
def test_programs_that_change_the_system(command):
    assert told(find_overwrites, command)


@pytest.mark.parametrize(
    "command",
    [
        "dd if=/etc/x of=x",
        "tee x",
        "cp /etc/x x",
        "cp /etc/x",
        "mv x y",
        "scp -t /etc x y",
        "sed s/a/b/ /etc/x",
        "sed -ne s/i/b/ /etc/x",
        "sed --quiet s/a/b/ /etc/x",
        "perl -ne x /etc/x",
        "perl --i /etc/x",
        "perl -e i /etc/x",
        "vim /etc/x",
        "vim --cmd x /etc/x",
        "vim -n /etc/x",
        "curl u",
        "curl -o x u",
        "curl -P /etc u",
        "wget -O x u",
        "pip install x",
        "tar cf x -C /usr y",
        "tar tf x -C /usr",
        "tar",
        "tar xf x",
        "unzip x",
        "unzip x -o /usr",
        "7z x -dx x",
        "cpio -o -D /usr",
        "cd /usr && cpio -o",
        "git clone x",
        "git add /usr/x",
        "cat /etc/x",
    ],
)
def test_programs_that_leave_the_system_alone(command):
    assert not told(find_overwrites, command)


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        ("gcc -o /usr/bin/x x.c", True),
        ("x --output=/etc/x", True),
        ("x --outfile /etc/x", True),
        ("gcc -o x x.c", False),
        ("gcc -o", False),
        ("gcc x.c /usr/bin/x", False),
        ("tar -o /etc/x", False),
        ("ps -o /etc/x", False),
        ("echo -o /etc/x", False),
    ],
)
def test_options_that_name_the_output(command, writes):
    assert bool(told(find_output_overwrites, command)) is writes


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        *((f"x {one} /etc/x", True) for one in (">", ">>", ">|", "&>", "&>>", "<>")),
        ("x < /etc/x", False),
        ("x > y", False),
        ("x > /dev/null", False),
        ('D=/etc; x > "$D/x"', True),
        ("cd /etc && x > y", True),
        ("x > y > /etc/x", True),
    ],
)
def test_redirects_to_the_system(command, writes):
    seen = expanded(command)

    found = [one for each in seen.flat.invocations for one in find_redirect_overwrites(each, seen)]

    assert bool(found) is writes


def test_one_reason_is_enough_for_all_paths_that_are_written():
    found = list(find_system_writes([f"{ROOT}/x", "/etc/a", "/etc/b"], WHERE))

    assert [one.part for one in found] == ["/etc/a"]
    assert list(find_system_writes([f"{ROOT}/x", "/tmp/y"], WHERE)) == []


@pytest.mark.parametrize(
    ("command", "damages"),
    [
        ("fdisk /dev/sda", True),
        ("fdisk -l /dev/sda", False),
        ("fdisk -l", False),
        ("fdisk", False),
        ("fdisk -l -w /dev/sda", True),
        ("parted /dev/sda print", False),
        ("parted /dev/sda mklabel gpt", True),
        ("badblocks -w /dev/sda", True),
        ("shred --x=/dev/sda", True),
        ("wipefs disk.img", False),
        ("zpool destroy x", True),
        ("zpool list", False),
        ("umount -a", True),
        ("unknown /dev/sda", True),
        ("unknown --device=/dev/nvme0n1p1", True),
        ("unknown if:/dev/sda1,ro", True),
        ("unknown /dev/null", False),
        ("unknown /dev/tty", False),
        ("./unknown /dev/sda", False),
        ("smartctl -a /dev/sda", False),
        ("lsblk /dev/sda", False),
        ("cat /dev/sda", False),
        ("mount x /usr", True),
        ("mount -t x y /home", True),
        ("umount /etc", True),
        ("umount x", False),
        ("mount", False),
        ("mount x mnt", False),
    ],
)
def test_disks_and_mounts(command, damages):
    assert bool(told(find_disk_damage, command)) is damages
