"""A command that changes links, folders and permissions, and what it changes."""

import os
import stat

COMMAND = (
    "rm -rf tree && chmod 711 kept && ln -sfn b.txt link && rm a.txt && ln -s b.txt a.txt && "
    "mkdir -p new/empty && ln -s nowhere new/dangling && rm closed/link && chmod 555 closed"
)


def tree(root):
    """Kinds, permissions, contents and targets; what stands under temp names too."""
    found = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        name = str(path.relative_to(root))
        if stat.S_ISLNK(info.st_mode):
            found[name] = os.readlink(path)
        else:
            content = path.read_bytes() if stat.S_ISREG(info.st_mode) else None
            found[name] = (oct(info.st_mode), content)
    return found


def lay(root):
    for path, text in (("tree/deep/x.txt", "x"), ("a.txt", "a"), ("b.txt", "b"), ("kept/y", "y")):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "tree" / "hollow").mkdir(mode=0o700)
    (root / "tree" / "deep").chmod(0o750)
    (root / "closed").mkdir()
    for link, target in (("link", "a.txt"), ("tree/up", "../a.txt"), ("closed/link", "../b.txt")):
        (root / link).symlink_to(target)
