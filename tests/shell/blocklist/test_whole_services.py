"""All that a service, a directory or a history holds, and keys put where others read them."""

import pytest
from tests.support.commands import refused


@pytest.mark.finding("F09")
@pytest.mark.parametrize(
    "command",
    [
        # The root of a store, whatever the program and the scheme.
        "databricks fs rm -r dbfs:/",
        "gfal-rm -r gsiftp://storage.acme.com/",
        "alluxio fs rm -R alluxio:///",
        "hadoop fs -rm -r -skipTrash hdfs://nn1:8020/",
        "lakectl fs rm --recursive lakefs://shop/",
        # The history or the trunk of other version control.
        "hg --config extensions.strip= strip -r 'all()' --no-backup",
        "hg strip 0 --no-backup",
        "svn delete -m x https://svn.acme.com/repo/trunk",
        "svn rm -m bye svn+ssh://svn.acme.com/repo",
        "svn del https://svn.acme.com/repo/branches -m x",
        # Artefacts on other machines that nothing names any more.
        "dvc gc --all-commits --cloud --force",
        "dvc gc -w -c -f",
        "dvc gc -wcf",
        "dvc gc -a --cloud -f",
        "mlflow gc --backend-store-uri postgresql://prod/mlflow",
        "mlflow gc --backend-store-uri postgresql://db.acme.com/mlflow",
        # Back to nothing, in production.
        "NODE_ENV=production npx knex migrate:rollback --all",
        "NODE_ENV=production npx sequelize db:migrate:undo:all",
        "migrate -database postgres://prod/shop -path m down -all",
        "goose postgres 'host=prod' down-to 0",
        "django-admin sqlflush | psql prod",
        "python manage.py sqlflush | mysql -h db.acme.com shop",
        # Words that mean everything.
        "postsuper -d ALL",
        "postsuper -d ALL deferred",
        "doveadm expunge -A mailbox '*' all",
        "doveadm expunge -u '*' mailbox INBOX all",
        "promtool tsdb delete-series --match '{__name__=~\".+\"}' /prometheus",
        "curl -g -X POST 'http://metrics:9090/api/v1/admin/tsdb/delete_series?match[]={__name__=~\".*\"}'",
        "echo -e 'update delete acme.com. ANY\\nsend' | nsupdate -k ddns.key",
        "nsupdate -k k <<< $'update delete acme.com\\nsend'",
        # What a directory of people and machines needs.
        "samba-tool user delete administrator",
        "samba-tool group delete 'Domain Admins'",
        "samba-tool domain demote --server=dc1",
        "dsdel -subtree -noprompt 'OU=Users,DC=acme,DC=com'",
        "dsrm -subtree -noprompt OU=Users,DC=acme,DC=com",
        "ipa user-del admin",
        "kdb5_util destroy -f",
        # Each of what the same program lists.
        "gh workflow list | cut -f3 | xargs -n1 gh workflow disable",
        "gh ruleset list | cut -f1 | xargs -n1 gh ruleset delete",
        # Virtual machines with their disks.
        "vim-cmd vmsvc/destroy 12",
        "xe vm-destroy uuid=1 force=true",
        "xe vm-uninstall vm=shop force=true",
        "xe sr-destroy uuid=1",
        "vmrun deleteVM /vms/shop/shop.vmx",
        "VBoxManage unregistervm shop --delete",
        # One record of many may be all that a service needs.
        'aws route53 change-resource-record-sets --hosted-zone-id Z1 --change-batch \'{"Changes":[{"Action":"DELETE"}]}\' --profile prod',
    ],
)
def test_all_that_a_service_holds_is_kept(command):
    assert refused(command) != ()


@pytest.mark.finding("F10")
@pytest.mark.parametrize(
    "command",
    [
        "databricks fs rm -r dbfs:/tmp/run-1",
        "databricks fs ls dbfs:/",
        "gfal-rm -r gsiftp://storage.acme.com/data/run-1",
        "hg strip --keep -r tip",
        "hg log -r 'all()'",
        "svn delete old.c",
        "svn delete -m x https://svn.acme.com/repo/branches/feature-1",
        "svn rm trunk/old.c",
        "dvc gc --workspace",
        "dvc gc --cloud --workspace",
        "dvc gc --workspace --force",
        "dvc gc --all-branches -f",
        "dvc gc --all-commits --force",
        "mlflow gc --backend-store-uri sqlite:///mlflow.db",
        "npx knex migrate:rollback --all",
        "NODE_ENV=production npx knex migrate:rollback",
        "NODE_ENV=production npx knex migrate:latest --all",
        "django-admin sqlflush",
        "python manage.py sqlflush | psql shop_test",
        "postsuper -d 4F2A91",
        "postqueue -p",
        "doveadm expunge -u ann mailbox Trash savedbefore 30d",
        "doveadm search -A mailbox '*' all",
        "promtool query instant http://localhost:9090 '{__name__=~\".+\"}'",
        "echo 'update delete old.acme.com. A' | nsupdate -k ddns.key",
        "samba-tool user list",
        "samba-tool user delete ann.test",
        "ipa user-show admin",
        "gh workflow list | grep nightly | xargs -n1 gh workflow disable",
        "gh workflow disable nightly.yml",
        "gh run list --json databaseId | xargs -n1 gh run delete",
        "vim-cmd vmsvc/getallvms",
        "xe vm-list",
        "VBoxManage unregistervm test-vm --delete",
        "VBoxManage unregistervm shop",
        'aws route53 change-resource-record-sets --hosted-zone-id Z1 --change-batch \'{"Changes":[{"Action":"UPSERT"}]}\' --profile prod',
    ],
)
def test_one_of_many_is_asked_about(command):
    assert refused(command) == ()


@pytest.mark.finding("F09")
@pytest.mark.parametrize(
    "command",
    [
        "cp ~/.ssh/id_ed25519 /var/www/html/k",
        "install -m 644 ~/.aws/credentials /srv/www/c",
        "ln -s ~/.ssh /usr/share/nginx/html/s",
        "cat ~/.ssh/id_rsa > /var/www/k.txt",
        "cat ~/.ssh/id_rsa | tee ~/public_html/k",
        "tar czf /var/www/html/x.tgz ~/.ssh",
        "docker cp ~/.ssh/id_rsa web:/usr/share/nginx/html/",
        "kubectl cp ~/.aws/credentials shop/web-1:/srv/c",
        "python3 -m http.server --directory ~/.ssh 8000 & ngrok http 8000",
        "cd ~/.ssh && python3 -m http.server",
        "php -S 0.0.0.0:8000 -t ~/.aws",
        "npx http-server ~/.ssh",
        "npx serve ~/.gnupg",
        "busybox httpd -f -h ~/.ssh",
        "ruby -run -e httpd ~/.ssh",
        "caddy file-server --root ~/.ssh",
        "rclone serve http ~/.ssh",
    ],
)
def test_keys_are_not_put_where_others_read_them(command):
    assert refused(command) != ()


@pytest.mark.finding("F10")
@pytest.mark.parametrize(
    "command",
    [
        "cp ~/.ssh/id_ed25519.pub /var/www/html/k.pub",
        "cp -r ~/.ssh ~/.ssh.bak",
        "cp dist/index.html /var/www/html/",
        # Where keys belong, in a container of one's own.
        "docker cp ~/.ssh/id_rsa builder:/root/.ssh/",
        "docker cp web:/app/log.txt .",
        "docker run -v ~/.ssh:/root/.ssh:ro app:1",
        "python3 -m http.server",
        "python3 -m http.server --directory dist 8000",
        "npx serve build",
        "php -S localhost:8000 -t public",
    ],
)
def test_what_is_no_key_may_be_served(command):
    assert refused(command) == ()


@pytest.mark.finding("F09")
@pytest.mark.parametrize(
    "command",
    [
        "setopt extendedglob; rm -rf /^tmp",
        "zsh -c 'setopt extended_glob; rm -rf ~/^keep'",
        "setopt extendedglob; rm -rf /*~tmp",
        "paste -sd' ' <<< $'rm\\n-rf\\n/' | sh",
        "printf 'rm\\n-rf\\n/\\n' | paste -s -d ' ' - | bash",
        "printf 'rm\\n-rf\\n~\\n' | xargs | sh",
        "echo 'rm -rf /' | jrunscript -e 'exec(\"sh\")'",
        "echo 'rm -rf ~' | python3 -c 'import os; os.system(\"sh\")'",
        'echo \'rm -rf ~\' | node -e \'require("child_process").spawnSync("bash",{stdio:"inherit"})\'',
    ],
)
def test_further_spellings_of_a_deletion_are_read(command):
    assert refused(command) != ()


@pytest.mark.finding("F10")
@pytest.mark.parametrize(
    "command",
    [
        "setopt extendedglob; rm -rf build/^keep",
        "rm -f 'notes^2.txt'",
        "paste -sd, names.txt",
        "seq 3 | paste -sd+ | bc",
        "echo 'rm -rf ~' | python3 -c 'import sys; print(len(sys.stdin.read()))'",
    ],
)
def test_what_only_looks_like_one_is_not_refused(command):
    assert refused(command) == ()
