"""What is deleted on other machines: its own name decides whether it is a trial."""

import pytest
from tests.support.commands import refused


@pytest.mark.finding("F09")
@pytest.mark.parametrize(
    "command",
    [
        # Words that do not name what is deleted.
        "az group delete -n shop-rg --yes --tags env=dev",
        "kubectl delete ns shop --kubeconfig dev.yaml",
        "gcloud sql instances delete shop --log-file /tmp/x -q",
        "gcloud sql instances delete shop dev-db -q",
        "aws cloudformation delete-stack --stack-name shop --region local",
        "dropdb -h db.prod.example.com app",
        "gcloud projects delete prod --project dev",
        # Verb and thing in any order, joined in any way.
        "ibmcloud resource service-instance-delete shop-db -f",
        "aws backup delete-recovery-point --backup-vault-name main --recovery-point-arn arn:x",
        "gh repo delete acme/app --yes",
        "az postgres flexible-server delete -n shop -y",
        "gcloud compute disks delete data --quiet",
        "netlify api deleteSite --data x",
        "s3cmd del --recursive --force s3://acme/",
        "heroku addons:destroy heroku-postgresql --confirm shop",
        "aws secretsmanager delete-secret --secret-id db --force-delete-without-recovery",
        "curl -X DELETE https://api.github.com/repos/acme/shop",
        # Each of what another command lists.
        "aws lambda list-functions | xargs -n1 aws lambda delete-function --function-name",
        "git branch -r | xargs -I{} git push origin :{}",
        # One object, in production.
        "pg_restore --clean -d postgres://u@prod/shop dump",
        "kubectl --context prod delete -f k8s/",
        "helm delete -n prod postgres",
        "wrangler delete --name acme-prod",
        "redis-cli -u redis://prod:6379 flushdb",
        "RAILS_ENV=production bundle exec rake db:drop",
        "psql $PROD_DATABASE_URL -c 'truncate users cascade'",
        "psql -h db.acme.com shop -c 'drop table orders cascade'",
        # A history that others build on.
        "git push --force origin main",
        "git push -f origin HEAD:master",
        "git push origin +main",
        "git push --force --all",
        "psql -c 'select 1; drop database shop'",
        "mysql -e'drop database shop'",
        # Not a dry run.
        "kubectl delete ns shop --dry-run=none",
        # The option is of another program.
        "kubectl exec pod --dry-run -- rm -rf /var/lib/postgresql",
        # Statements that one client prints and another runs.
        "psql -Atc \"select 'drop table '||tablename from pg_tables\" prod | psql prod",
        "mysql -N -e 'show databases' | xargs -I{} mysql -e 'drop database {}'",
        "docker exec -i db mysql <<< 'drop database app;'",
        # All of a store of objects, slowly or at once.
        'aws s3api put-bucket-lifecycle-configuration --bucket data --lifecycle-configuration \'{"Rules":[{"Filter":{"Prefix":""},"Expiration":{"Days":1}}]}\'',
        "mc ilm rule add --expire-days 1 minio/data",
        "aws s3 sync /tmp/empty s3://data --delete",
        # Stores that have no database of one's own.
        "cqlsh -e 'TRUNCATE shop.orders'",
        "mongo shop --eval 'db.users.drop()'",
        "cypher-shell 'MATCH (n) DETACH DELETE n'",
        "TF_CLI_ARGS_destroy=-auto-approve terraform destroy",
        "docker compose -f prod.yml down --volumes",
        "gh secret list | cut -f1 | xargs -n1 gh secret delete",
        "alembic -x env=prod downgrade base",
        "spark-sql -e 'DROP DATABASE shop CASCADE'",
        "vmtool list | cut -f1 | xargs -n1 vmtool destroy -f",
        "prlctl delete prod",
        "echo 'DROP SCHEMA public CASCADE' | python manage.py dbshell --settings=shop.settings.production",
        "curl -XPOST http://es.prod.example:9200/orders/_delete_by_query -d '{}'",
        # An option that names nothing.
        "git push -f test main",
        "git push --force -u test main",
        "git push -d test main",
        "railway down -f test shop",
        "kubectl delete ns shop -f test.yaml",
        "s3cmd rb -f s3://test-x s3://data",
        "docker-compose -f prod.yml down -v",
        "kubectl delete ns shop --reason $'a\\nb'",
        "mongosh prod --eval 'db.users.drop()'",
        "mongosh app --eval 'db.dropDatabase()'",
        "footool --env prod <<< 'drop user shop cascade'",
        "psql -c 'select $a$; drop database shop'",
    ],
)
def test_what_others_depend_on_is_refused(command):
    assert refused(command) != ()


@pytest.mark.finding("F10")
@pytest.mark.parametrize(
    "command",
    [
        "gcloud sql instances delete shop-dev -q",
        "az sql db delete -g dev -s srv -n app --yes",
        "aws --endpoint-url=http://localhost:4566 s3 rb s3://x --force",
        "pulumi destroy --yes -s dev",
        "terraform destroy -auto-approve -target=aws_instance.test",
        "gh run list --json databaseId | xargs -n1 gh run delete",
        "curl -X DELETE https://api.github.com/repos/acme/shop/labels/bug",
        "pg_restore --clean -d app_dev dump",
        "kubectl delete all --all -n preview-1",
        "kubectl delete pod web-1 -n prod",
        "redis-cli flushall",
        "psql -U postgres -c 'drop database if exists app_dev'",
        "psql -U postgres app_test -c 'drop schema public cascade'",
        "psql -h localhost -c 'drop database shop'",
        "psql -c \"select * from t where name = 'x; drop database shop'\"",
        "psql -c 'select $$drop database shop$$'",
        "psql -c 'select 1 -- ; drop database shop'",
        "psql -h db shop -c 'drop table orders'",
        "psql -h staging.acme.com shop -c 'drop table orders'",
        "gcloud compute disks delete data",
        "git push --force origin feature/main",
        "git push --force-with-lease origin main",
        "git push -n --force origin main",
        "git push -f origin main:backup",
        # Says what it would do.
        "kubectl delete ns prod --dry-run=client",
        "aws s3 rm s3://data --recursive --dryrun",
        "rclone purge remote:data --dry-run",
        "git push --dry-run --mirror",
        "gh repo delete --help",
        "ansible all --check -m command -a reboot",
        "apt-get -s purge libc6",
        "rsync -an --delete empty/ ~/",
        "mkfs.ext4 -V",
        "etcdctl del --prefix /test",
        "consul kv delete -recurse test/",
        "airflow db reset -y",
        "cqlsh -e 'TRUNCATE test_ks.t'",
        "mongo --eval 'db.users.drop()'",
        "mongosh test --eval 'db.users.drop()'",
        'aws s3api put-bucket-lifecycle-configuration --bucket data --lifecycle-configuration \'{"Rules":[{"Filter":{"Prefix":"logs/"},"Expiration":{"Days":1}}]}\'',
        'aws s3api put-bucket-lifecycle-configuration --bucket data --lifecycle-configuration \'{"Rules":[{"Expiration":{"Days":365}}]}\'',
        "gh run list | xargs -n1 gh run delete",
        "docker volume rm $(docker volume ls -qf dangling=true)",
        "vmtool list | grep old | xargs -n1 vmtool destroy -f",
        "rabbitmqctl delete_queue tmp-queue",
        "docker compose -f test.yml down --volumes",
        "git push -f origin feature-1",
        "kubectl delete -f test.yaml",
        # A collection of a database of one's own.
        "mongosh app --eval 'db.users.drop()'",
        "mongosh --eval 'db.tmp.drop()' mydb",
        "mongosh mydb --eval 'db.users.deleteMany({})'",
        "mongosh --eval 'db.users.drop()' --quiet",
        "footool <<< 'drop user shop cascade'",
        "psql -c 'select $a$; drop database shop $a$'",
        "psql -c 'select 1 /* ; drop database shop'",
        "echo 'DROP SCHEMA public CASCADE' | python manage.py dbshell",
    ],
)
def test_a_trial_or_a_local_service_is_not_refused(command):
    assert refused(command) == ()


@pytest.mark.parametrize("command", ["git push --mirror", "git push --force origin main"])
def test_a_push_is_refused_for_what_it_does_to_branches(command):
    assert all("branches" in reason.text for reason in refused(command))
    assert refused(command) != ()


@pytest.mark.parametrize("command", ["hg strip 0", "git update-ref -d refs/heads/main"])
def test_a_history_on_this_machine_is_not_one_of_others(command):
    assert all("history" in reason.text for reason in refused(command))
    assert refused(command) != ()
