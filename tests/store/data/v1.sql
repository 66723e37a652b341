-- A store of schema version 1 with rows, as its Handrail left it. Never regenerate.
PRAGMA application_id = 1213358441;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE ledger (
    id        INTEGER PRIMARY KEY,
    session   TEXT    NOT NULL,
    kind      TEXT    NOT NULL CHECK (kind IN ('open', 'close')),
    at_ns     INTEGER NOT NULL,
    rows      INTEGER NOT NULL,
    head      TEXT    NOT NULL,
    info      TEXT    NOT NULL,
    prev_hash TEXT    NOT NULL,
    hash      TEXT    NOT NULL
);
INSERT INTO "ledger" VALUES(1,'cli','open',1700000000000000000,0,'0000000000000000000000000000000000000000000000000000000000000000','{"mode":"default"}','0000000000000000000000000000000000000000000000000000000000000000','9c54b387af3fc6e06e354ef1de877f2496db46eacbce3da864e5d38d28fe25cb');
INSERT INTO "ledger" VALUES(2,'cli','close',1700000000000000004,3,'a2166a16f9bb8f41d3049f23a5d9da9bbea51ae115b7239aab18be57d27a2573','{}','9c54b387af3fc6e06e354ef1de877f2496db46eacbce3da864e5d38d28fe25cb','ec69d9c59427dfe33a6bc45b9b468ce80f34205380f4600afeedf9d9360f5ad5');
INSERT INTO "ledger" VALUES(3,'other','open',1700000000000000005,0,'0000000000000000000000000000000000000000000000000000000000000000','{}','ec69d9c59427dfe33a6bc45b9b468ce80f34205380f4600afeedf9d9360f5ad5','5b00705dcb84e0d2702ca951e144499735bb7ab5080265545796dcfd160fc627');
CREATE TABLE payloads (
    row  INTEGER PRIMARY KEY,
    body TEXT NOT NULL
);
INSERT INTO "payloads" VALUES(1,'{"tool":"edit_file","args":{"path":"größe.py"}}');
INSERT INTO "payloads" VALUES(2,'{"before":"x = 1\n"}');
INSERT INTO "payloads" VALUES(3,'{"text":"größer","status":"ok"}');
INSERT INTO "payloads" VALUES(4,'{"tool":"grep"}');
INSERT INTO "payloads" VALUES(5,'{"status":"failed","text":"it''s gone"}');
CREATE TABLE rows (
    id           INTEGER PRIMARY KEY,
    session      TEXT    NOT NULL,
    seq          INTEGER NOT NULL,
    kind         TEXT    NOT NULL CHECK (kind IN ('requested', 'intent', 'completed')),
    call_id      TEXT    NOT NULL,
    turn         INTEGER NOT NULL,
    at_ns        INTEGER NOT NULL,
    payload_hash TEXT    NOT NULL,
    prev_hash    TEXT    NOT NULL,
    hash         TEXT    NOT NULL,
    UNIQUE (session, seq)
);
INSERT INTO "rows" VALUES(1,'cli',1,'requested','c1',1,1700000000000000001,'1597eb0c732549198f08753e7d894f652bb96aaf9345390f3eb99c7448d9520a','9c54b387af3fc6e06e354ef1de877f2496db46eacbce3da864e5d38d28fe25cb','b39338c4f37258a41a89385da0b093956771425803e490f8d9e1b572ed0bf511');
INSERT INTO "rows" VALUES(2,'cli',2,'intent','c1',1,1700000000000000002,'7e0ca88f328ead8d0b1700431377375f22991d6376cccef20c2c03f97bce2f19','b39338c4f37258a41a89385da0b093956771425803e490f8d9e1b572ed0bf511','82a7912640f22b15478f1ea67ebe5968e54f3423bf3ca468b74849e186b93b5e');
INSERT INTO "rows" VALUES(3,'cli',3,'completed','c1',1,1700000000000000003,'f00c9b3bfd736bd320841214e6f928335056191376f798efa6297a9201301460','82a7912640f22b15478f1ea67ebe5968e54f3423bf3ca468b74849e186b93b5e','a2166a16f9bb8f41d3049f23a5d9da9bbea51ae115b7239aab18be57d27a2573');
INSERT INTO "rows" VALUES(4,'other',1,'requested','c1',1,1700000000000000006,'c5853dcb53e38c16dedced81d26d1f2f23febdfb5e7fc7e9c5488facef1155a2','5b00705dcb84e0d2702ca951e144499735bb7ab5080265545796dcfd160fc627','10015f03cb6cd606795d26967e62fe6d002aa32e0ffcdd92749ceec928d51423');
INSERT INTO "rows" VALUES(5,'other',2,'completed','c1',1,1700000000000000007,'8e50ed7e5dcb990219bbceff3f7de5cbab2132ac537dc8e44c57cb03eea362fc','10015f03cb6cd606795d26967e62fe6d002aa32e0ffcdd92749ceec928d51423','ceca97db47adb90e30d2256315f344c62977d238ad9312e35668573ae02176fb');
CREATE TABLE sessions (
    id        TEXT    NOT NULL PRIMARY KEY,
    ordinal   INTEGER NOT NULL UNIQUE,
    opened_ns INTEGER NOT NULL,
    closed_ns INTEGER
);
INSERT INTO "sessions" VALUES('cli',1,1700000000000000000,1700000000000000004);
INSERT INTO "sessions" VALUES('other',2,1700000000000000005,NULL);
COMMIT;
