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
    ],
)
def test_a_trial_or_a_local_service_is_not_refused(command):
    assert refused(command) == ()
