"""A dry run is not refused; what only looks like one is."""

import pytest
from tests.support.commands import refused

from handrail.shell.blocklist.dry_runs import is_dry_run


@pytest.mark.finding("F09")
@pytest.mark.parametrize(
    "command",
    [
        # The value of another option.
        "curl -X DELETE -H --help https://api.github.com/repos/a/b",
        "psql -h db.prod.example.com -c 'drop database shop' -o --help",
        "rsync -a --delete --exclude -n empty/ /home/u",
        "rsync -a --delete -M --dry-run empty/ /home/u",
        "rsync -a --delete -T/tmp/n empty/ /home/u",
        "rsync -a --delete -ave -n empty/ /home/u",
        "git push --force -oci.skip=no origin main",
        "git push --force -o -n origin main",
        "git push --force --receive-pack --dry-run origin main",
        "kubectl delete namespace prod -l --dry-run=client",
        "apt-get remove -y -tstable libc6",
        "apt-get remove -y -t -s libc6",
        "apt-get remove -y -oAPT::Get::Assume-Yes=yes libc6",
        "pacman -Rdd --noconfirm -r/opt glibc",
        "pacman -Rdd --noconfirm -r -p glibc",
        # Taken back.
        "kubectl delete namespace prod --dry-run=client --dry-run=none",
        "kubectl delete namespace prod --dry-run=False",
        "kubectl delete namespace prod --dry-run=f",
        "aws rds delete-db-cluster --db-cluster-identifier prod --dry-run --no-dry-run",
        "aws s3 rm s3://data --recursive --dryrun --no-dryrun",
        "git push --dry-run --force --no-dry origin main",
        "rsync -an --no-n --delete empty/ /home/u",
        "apt-get remove -y -s=no libc6",
        "apt-get remove -y -s -s=no libc6",
        "apt-get remove -y -s --without-simulate libc6",
        "apt-get -s remove -y -o APT::Get::Simulate=no libc6",
        "rclone purge remote:data --dry-run=false",
        "apt-get -s -y purge libc6 -s no",
        "apt-get -s -y purge libc6 -s0",
        "apt-get -s -y purge libc6 -sno",
        "apt-get -s -y purge libc6 -ys0",
        "apt-get -s -y purge libc6 -s ' 0x0'",
        "apt-get -s -y purge libc6 --simul 0",
        "apt-get -s -y purge libc6 -c my.conf",
        "apt-get -s -y -t -- -s0 purge libc6",
        "apt-get -y purge -s without libc6",
        "npm unpublish shop --force --dry-run --dry-run false",
        "npm unpublish shop --force --dry-run -no-dry-run",
        "wrangler delete --name prod --force --dry-run --dry-run false",
        "rsync -an --delete --exclude -- --no-n empty/ /home/u",
        "kubectl delete namespace prod --dry-run=client --dry-run none",
        "dnf remove -y --assumeno glibc",
        "dnf remove --assumeno --setopt=assumeno=0 glibc",
        "rpm -e --test --notest glibc",
        "aws ec2 delete-vpc --vpc-id prod --dry-run --no-dry-run",
        # What is not known may take it back.
        "kubectl delete ns prod --dry-run=client $(cat flags)",
        "kubectl delete ns prod --dry-run=client --dry-r$X=none",
        "kubectl delete ns prod --dry-run=client $FLAGS",
        "npm unpublish shop --force --dry-run $(cat flags)",
        "rsync -an --delete $OPTIONS empty/ /home/u",
        # Another subcommand, or before the subcommand.
        "zypper -D /etc/zypp/repos.d remove -y glibc",
        "zypper --root rm -D /etc/zypp/repos.d remove -y glibc",
        "s3cmd rb --force s3://data -n",
        "s3cmd -n rb --force s3://data",
        "aws rds delete-db-cluster --db-cluster-identifier prod --dry-run",
        # A script may ignore its arguments.
        "k3s-uninstall.sh --help",
        "rke2-uninstall.sh --version",
        # The program has no such option, or reads it otherwise.
        "terraform destroy -auto-approve --dry-run",
        "gcloud projects delete prod --quiet --simulate",
        "rsync -help -a --delete empty/ /home/u",
        "rsync -version -a --delete empty/ /home/u",
        "curl -X DELETE https://api.github.com/repos/a/b -- --help",
        # What other programs run is not checked.
        "gcloud compute ssh web --command 'rm -rf /' -- --check",
        "gcloud compute ssh web --command 'rm -rf /' --check",
        "aws ssm send-command --parameters commands='rm -rf /' --comment --check",
        "ansible all -m shell -a 'rm -rf /' -e --check",
        "ansible all -m shell -a 'rm -rf /' --check -e ansible_check_mode=no",
    ],
)
def test_what_only_looks_like_a_dry_run_is_refused(command):
    assert refused(command) != ()


@pytest.mark.finding("F10")
@pytest.mark.parametrize(
    "command",
    [
        "git push -n --force origin main",
        "git push --force -n origin main",
        "git push -fn origin main",
        "git push --force --dry-run origin main",
        "rsync -an --delete empty/ /home/u",
        "rsync -a --delete -n empty/ /home/u",
        "rsync -a --delete --exclude=x --dry-run empty/ /home/u",
        "rsync -a --delete -e ssh -n empty/ /home/u",
        "apt-get remove -y -s libc6",
        "apt-get remove --simulate libc6",
        "apt-get remove --dry-run libc6",
        "apt-get remove --just-print libc6",
        "dpkg --no-act -P libc6",
        "apk del --simulate musl",
        "pacman -Rdd --print glibc",
        "pacman -R -p glibc",
        "pacman -Rddp glibc",
        "kubectl delete namespace prod --dry-run=client",
        "kubectl delete namespace prod --dry-run=server",
        "helm uninstall -n prod postgres --dry-run",
        "aws s3 rm s3://data --recursive --dryrun",
        "rclone purge remote:data --dry-run",
        "ansible all -m shell -a 'rm -rf /' --check",
        "ansible all -C -m shell -a 'rm -rf /'",
        "apt-get -ys purge libc6",
        "apt-get purge -sqq -s libc6",
        "rpm -e --test glibc",
        "dnf remove --assumeno glibc",
        "restic forget --keep-last 0 -nq",
        "dpkg -P --force-all --no-act libc6",
        "zypper -n remove -D -y glibc",
        "zypper rm --dry-run glibc",
        "s3cmd -n del --recursive --force s3://data",
        "s3cmd del --recursive --force s3://data --dry-run",
        "npm unpublish shop --force --dry-run=true",
        "git --no-pager push -n --force origin main",
        "aws ec2 terminate-instances --instance-ids $ID --dry-run",
        "aws --profile shop ec2 delete-vpc --vpc-id prod --dry-run",
        "kubectl delete ns $NAME --dry-run=client",
        "kubectl delete ns prod --context=$NAME --dry-run=client",
        "gh repo delete --help",
        "kubectl delete --help",
        "terraform destroy -help",
        "dropdb --version",
    ],
)
def test_a_dry_run_is_not_refused(command):
    assert refused(command) == ()


@pytest.mark.parametrize(
    ("command", "dry"),
    [
        ("x", False),
        ("x --dry-run", False),
        ("x --help", True),
        ("x --version", True),
        ("x -help", False),
        ("terraform -help", True),
        ("x a b --help", True),
        ("x a b c d e --help", False),
        ("x a/b --help", False),
        ("x --help --no-help", False),
        ("x -- --help", False),
        ("cargo yank --version 1.0.0", False),
        ("npm unpublish --dry-run", True),
        ("npm unpublish --dry-run false", False),
        ("git push -- -n", False),
        ("git -n push", False),
        ("rsync - -n", False),
        ("rsync \ue003 -n", False),
        # `--no-n` takes it back.
        ("rsync -n \ue003", False),
        ("rsync -n -- \ue003", False),
        ("rsync -n x\ue003", False),
        ("rsync -n \ue005", False),
        ("rsync -n x\ue005", True),
        ("rsync -n --exclude=\ue005", True),
        ("rsync --ex\ue005 x -n", False),
        ("x --help \ue003", False),
        ("x.sh --help", False),
        ("x.sh --version", False),
        ("wrangler delete --dry-run", True),
        ("wrangler delete --dry-run --dry-run false", False),
        ("wrangler delete --dry-run --dryRun false", False),
        ("wrangler delete --dry-run --no-dryRun", False),
        ("wrangler delete --dry-run=false", False),
        ("rsync -n --exclude=x=y", True),
        ("kubectl delete --dry-run", False),
    ],
)
def test_in_doubt_a_call_is_no_dry_run(command, dry):
    program, *arguments = command.split()

    assert is_dry_run(program, arguments) is dry
