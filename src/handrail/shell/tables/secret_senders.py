"""Programs that send, copy or serve files, and what prints or holds keys. Data only."""

from __future__ import annotations

import re
from typing import Final

from handrail.shell.tables.word_list import word_set

# They send what they are given: an argument, a file, or standard input.
SENDERS: Final = word_set("""
    curl wget wget2 http https xh xhs httpie nc ncat netcat socat telnet ftp tftp sftp ssh websocat
    dig host nslookup drill kdig openssl mail mailx sendmail mutt msmtp swaks curlie hurl s3cmd gh
    lftp ncftpput gist pastebinit termbin ping ping6 croc wormhole ffsend transfer onionshare onionshare-cli sendme portal
    slackcat telegram-send ntfy matrix-commander discord.sh ix dpaste hastebin 0x0 gdrive dbxcli mega-put megaput ipfs
    tailscale kdeconnect-cli warp s-nail mpack neomutt grpcurl mosquitto_pub kcat kafkacat rabbitmqadmin smbclient davs2
    cadaver tftp-hpa iperf3 hping3 nping dnscat2 chisel bore ngrok transfer.sh bashupload oshi qrcp
""")
# They copy to the place that is named last.
COPIERS: Final = word_set("scp rsync sftp aws gsutil gcloud az rclone s3cmd mc croc")
# They read commands from standard input.
SCRIPTED: Final = word_set("sftp ftp lftp tftp")
REMOTE_PLACE: Final = re.compile(r"[\w.@\[\]-]++:.*", re.DOTALL)
# The value proves who is asking; it is not sent.
IDENTITY: Final = re.compile(
    r"--(?:key|cert|cacert|capath|netrc-file|identity\S*|kubeconfig|ssl-?\w*|config|private-key)"
    r"|-(?:key|cert|CAfile|CApath)"
)
LOGIN_OPTIONS: Final = {
    **dict.fromkeys(("ssh", "scp", "sftp"), frozenset(("-i", "-F", "-E", "-J", "-S"))),
    "curl": frozenset(("-E", "-K")),
}
ENVIRONMENT: Final = frozenset(("env", "printenv"))
# They send to whoever listens; nobody deploys with them.
RAW_SENDERS: Final = word_set("""
    curl wget wget2 http https xh nc ncat netcat socat telnet dig host nslookup drill ping websocat
""")
# What prints tokens, passwords or keys; the words joined by blanks must match as a whole.
PRINTS_SECRETS: Final = re.compile(
    r"gh auth token.*|aws iam create-(?:access-key|service-specific-credential).*|az ad (?:sp|app) (?:create-for-rbac|credential).*"
    r"|gcloud iam service-accounts keys create (?:/dev/stdout|-).*|kubectl config view .*--raw.*|(?:kubectl|oc) (?:.* )?create token.*"
    r"|heroku auth:token.*|terraform (?:output|state pull|show).*|npm token .*|oc whoami (?:-t|--show-token)|aws configure (?:get|export-credentials).*|aws secretsmanager get-secret-value.*"
    r"|aws ssm get-parameter.*--with-decryption.*|aws sts (?:get-session-token|assume-role).*"
    r"|gcloud auth (?:application-default )?print-.*token.*|gcloud secrets versions access.*"
    r"|az account get-access-token.*|az keyvault secret show.*|(?:kubectl|oc) (?:.* )?(?:get|describe) (?:.* )?secrets?\b.*"
    r"|vault (?:kv get|read|print token|token lookup).*|(?:pass|gopass)(?: show)? .*|op (?:read|item get|document get).*"
    r"|bw (?:get|list|export).*|lpass show.*|security (?:find-\S+-password|dump-keychain).*|secret-tool (?:lookup|search).*"
    r"|keyring get.*|kwallet-query .*(?:-r|--read-password).*|gnome-keyring-daemon .*|gpg2? .*--export-sec.*|git credential fill.*|heroku config.*|doppler secrets.*"
    r"|chamber (?:read|export).*|sops (?:-d|--decrypt|decrypt).*|ansible-vault (?:view|decrypt).*|age (?:-d|--decrypt).*"
    r"|docker-credential-\S+ get.*|rclone config show.*|history(?: .*)?|fc -l.*|env|printenv(?: (?:AWS_(?:SECRET_ACCESS_KEY|SESSION_TOKEN)|\w+_PRIVATE_KEY))?|export(?: -p)?|set|(?:declare|typeset) -[px]+|compgen -[ve]"
)
# What prints all that a database holds; only what is in use counts.
PRINTS_DATA: Final = re.compile(
    r"(?:pg_dump(?:all)?|mysqldump|mariadb-dump|mongodump|mongoexport|pg_basebackup|mysqlpump|mydumper|expdp|ldapsearch|slapcat)(?: .*)?"
    r"|(?:redis|valkey)-cli .*--rdb.*|(?:psql|mysql) .*\bcopy .* to stdout.*",
    re.DOTALL,
)
# They show what they are given to everybody.
PASTES: Final = re.compile(
    r"gh gist create .*|glab snippet create .*|(?:gist|pastebinit|ix|dpaste|hastebin|wgetpaste|termbin) .*"
)
# A token in the value of such an option proves who is asking.
PROOF: Final = re.compile(
    r"-\w*H|--header|-u|--user|--oauth2-bearer|--auth|-a|--http-password|--password"
)
TOKEN_HEADER: Final = re.compile(
    r"(?i)(?:--header=)?[\"']?(?:--header=)?(?:authorization|private-token):"
)
# A header that is there to prove who asks; any other one carries data.
PROVING_HEADER: Final = re.compile(
    r"(?i)[\"']?(?:--header=)?[\"']?(?:[\w-]*(?:auth|token|key|secret|credential|passw|session|cookie|bearer|signature)[\w-]*:|\$|@)"
)
HEADER_OPTION: Final = re.compile(r"-\w*H|--header")
# Where a cloud gives a machine its credentials.
METADATA: Final = re.compile(
    r"(?i)(?:https?://)?(?:169\.254\.169\.254|169\.254\.170\.2|100\.100\.100\.200|\[fd00:ec2::254\]|metadata\.google\.internal"
    r"|metadata\.azure\.\w+)(?::\d+)?/.*",
    re.DOTALL,
)
# The machine itself.
THIS_MACHINE: Final = re.compile(
    r"(?i)(?:https?://)?(?:localhost|169\.254(?:\.\d{1,3}){2}|100\.100\.100\.200|metadata\.google\.internal|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?(?:[/?#].*)?",
    re.DOTALL,
)
# Options that may lead to another machine, wherever the address points.
DETOUR: Final = re.compile(
    r".*://.*|-[a-zA-Z]*[xK].*|--(?:proxy|resolve|connect-to|preproxy|socks|config|doh|unix).*",
    re.DOTALL,
)
PORT: Final = re.compile(r"\d{1,5}")
METHOD: Final = re.compile(r"[A-Z]+")
# The options whose value, the next argument, is no address; all others may be without a value.
DATA_OPTIONS: Final = {
    "curl": word_set("""
        -d --data --data-ascii --data-binary --data-raw --data-urlencode --json -F --form --form-string
        -H --header -X --request -o --output -T --upload-file -u --user -A --user-agent -b --cookie
        -m --max-time -w --write-out --retry --connect-timeout
    """),
    "wget": word_set("""
        -O --output-document --post-data --post-file --body-data --body-file --method --header --user
        --password -T --timeout
    """),
}
# The first address is the machine; what follows are fields.
HTTPIE: Final = word_set("http https xh xhs")
# Services never ask for these: they ask for a signature made with them.
SECRET_VARIABLE: Final = re.compile(r"AWS_(?:SECRET_ACCESS_KEY|SESSION_TOKEN)|\w+_PRIVATE_KEY")
SOCAT_FILE: Final = re.compile(r"(?i)\A(?:FILE|G?OPEN|CREATE):([^,]+).*")
UPLOAD: Final = re.compile(r"-T|--upload-file|--(?:post|body)-file")
# They copy, pack or encode a file into another.
COPYING: Final = word_set("""
    cp mv install ln tar gtar bsdtar zip 7z gzip bzip2 xz zstd base64 base32 xxd openssl gpg dd rsync cat tee age
""")
# They copy files into containers and devices: `docker cp x web:/y`.
INTO_CONTAINERS: Final = word_set("docker podman nerdctl docker-compose kubectl oc lxc incus adb")
CONTAINER_PLACE: Final = re.compile(r"[\w.@-]+(?:/[\w.-]+)?:(?:/.*)?", re.DOTALL)
# A key that goes to where a program looks for keys is not shown to others.
KEYS_BELONG: Final = re.compile(
    r"/\.(?:ssh|aws|gnupg|kube|docker|config|azure)(?:/|$)|/secrets?(?:/|$)"
)
# Directories that a web or file server shows to others.
PUBLIC: Final = re.compile(
    r"/var/(?:www|ftp|lib/tftpboot)(?:/.*)?|/srv/(?:www|https?|ftp|tftp)(?:/.*)?|/usr/share/(?:nginx|caddy|apache2)(?:/.*)?"
    r"|/usr/local/(?:www|(?:nginx|apache2?)/(?:html|htdocs))(?:/.*)?|/Library/WebServer(?:/.*)?"
    r"|(?:.*/)?(?:public_html|htdocs|wwwroot)(?:/.*)?",
    re.DOTALL,
)
# Whatever lies there is shown to every visitor; the files of a program may lie beside it.
WEB_ROOT: Final = re.compile(
    r"(?:.*/)?(?:html|public|public_html|htdocs|wwwroot)(?:/.*)?", re.DOTALL
)
# An upload that everybody may read.
PUBLIC_UPLOAD: Final = re.compile(
    r"(?:--acl=|-a|--predefined-acl=)?public-?[rR]ead(?:-?[wW]rite)?|allUsers|AllUsers"
)
_SERVERS: Final = (
    r"(?:http-server|serve|live-server|local-web-server|darkhttpd|miniserve|webfsd|simple-http-server|httpd|thttpd"
    r"|mini_httpd|static-web-server|dufs|updog|uploadserver|goshs|filebrowser|sfz)"
)
# They show a directory to whoever asks; the words joined by blanks must match as a whole.
SERVES: Final = re.compile(
    r"(?:python[\d.]*|pypy3?) (?:-\S+ )*-m ?(?:http\.server|SimpleHTTPServer|RangeHTTPServer|uploadserver|twisted)(?: .*)?"
    rf"|php (?:.* )?-S .*|ruby (?:.* )?-run .*|busybox httpd(?: .*)?|(?:rclone|tailscale) serve .*|twistd .*web .*"
    rf"|caddy (?:.* )?file-server(?: .*)?|ngrok http (?:.* )?file:.*|{_SERVERS}(?: .*)?"
    rf"|(?:npx|bunx|pnpx|uvx|pipx|yarn|pnpm|bun) (?:(?:-\S+|dlx|exec|run|x) )*{_SERVERS}(?:@\S+)?(?: .*)?",
    re.DOTALL,
)
NAMES_DIRECTORY: Final = re.compile(
    r"-[dtrh].*|--(?:directory|root|path|dir|docroot)(?:=.*)?|.*/.*", re.DOTALL
)
# They make a server of this machine reachable for others.
TUNNELS: Final = word_set(
    "ngrok cloudflared lt localtunnel bore zrok pagekite tailscale ssh autossh chisel frpc"
)
