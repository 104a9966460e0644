"""What docs/protocol.md says is what a server does, shown by a client written from that page.

usage: protocol_page_test.py STRATA_SERVER_PROGRAM
"""

import re
import struct
import subprocess
import sys
import unittest

import zmq

import protocol_client as wire
from protocol_client import (CHANGE_ITEMS, COLLECTION_STATS, CORRUPT, CREATE_COLLECTION,
                             CREATE_TABLE, DONE, DROP_COLLECTION, DROP_TABLE, ERASE, EXISTS, FULL,
                             HELLO, INVALID, LEAVE, LIST_COLLECTIONS, LIST_TABLES, LOST, NOT_FOUND,
                             OK, PING, PREFETCH, PULL, PUSH, PUSH_PULL, PUT, READ_ITEMS, REFUSED,
                             SCAN, SCAN_ITEMS, SEARCH, SHARD_MAP, STATS, WITH_STATE)

CLUSTER = "strata"
LANES = 2
RATE = 0.5
KEYS = list(range(100, 140))  # on both lanes, as a test checks


class Session:
    """A client that has greeted the server, and what it learnt from that."""

    def __init__(self, context, main):
        self.client = wire.Client(context, CLUSTER)
        self.main = main
        greeting = self.client.call(main, HELLO, [wire.hello_request("protocol_page_test")],
                                    version=1)
        self.hello = wire.Hello.decode(greeting.frames[0])
        answer = self.client.call(main, SHARD_MAP, incarnation=self.hello.incarnation)
        self.map = wire.ShardMap.decode(answer.frames[0])
        self.nonce = answer.header.word_148

    def lane_endpoint(self, lane):
        host = self.main.rpartition(":")[0]
        return f"{host}:{self.hello.ports[lane]}"

    def keys_of(self, lane, keys):
        index = self.map.lanes.index((0, lane))
        return [key for key in keys if self.map.owners[wire.shard_of(key)] == index]

    def ask(self, lane, command, name, frames=(), seed=wire.TABLE_SEED, **fields):
        """A request about the table, or with the other seed the collection, of that name."""
        table, check = wire.id_and_check(name, seed)
        fields = {"table": table, "word_148": check, "epoch": self.map.epoch,
                  "incarnation": self.hello.incarnation, **fields}
        if fields.get("version") == 1:
            fields["word_148"] = 0
        return self.client.call(self.lane_endpoint(lane), command, frames, **fields)

    def write(self, lane, command, name, frames=(), **fields):
        """The same for a write, under the next sequence, acknowledged as its table says."""
        if "sequence" not in fields:
            sequence = self.client.next_sequence(self.lane_endpoint(lane))
            fields.update(sequence=sequence, settled_below=sequence)
        return self.ask(lane, command, name, frames, **{"ack": 255, **fields})

    def create_table(self, name, dim=2, optimizer=wire.SGD):
        for lane in range(LANES):
            definition = wire.table_definition(name, dim, RATE, optimizer)
            reply = self.write(lane, CREATE_TABLE, name, [definition], word_148=0)
            assert reply.header.status == OK, reply.text

    def create_collection(self, name, attributes=()):
        for lane in range(LANES):
            definition = wire.collection_definition(name, attributes)
            reply = self.write(lane, CREATE_COLLECTION, name, [definition], word_148=0,
                               seed=wire.COLLECTION_SEED)
            assert reply.header.status == OK, reply.text

    def push(self, lane, name, gradients, **fields):
        """gradients: {key: row}."""
        rows = [value for row in gradients.values() for value in row]
        return self.write(lane, PUSH, name, [wire.u64s(list(gradients)), wire.floats(rows)],
                          **{"count": len(gradients), "width": 2, "step": 1, **fields})

    def pull(self, lane, name, keys, **fields):
        """{key: row}."""
        reply = self.ask(lane, PULL, name, [wire.u64s(keys)], count=len(keys), width=2, **fields)
        assert reply.header.status == OK, reply.text
        return rows_of(keys, reply.frames[0])


def rows_of(keys, frame, width=2):
    values = wire.unpack_all("f", frame)
    assert len(values) == len(keys) * width
    return {key: values[at * width:(at + 1) * width] for at, key in enumerate(keys)}


class ProtocolPage(unittest.TestCase):
    program = ""

    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen([cls.program, "--port=0", f"--lanes={LANES}"],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        ready = cls.server.stdout.readline()
        address = re.search(r"tcp://\S+", ready)
        if address is None:
            raise RuntimeError(f"the server said {ready!r} instead of its address")
        cls.main = address.group()
        cls.context = zmq.Context()

    @classmethod
    def tearDownClass(cls):
        cls.context.destroy(linger=0)
        cls.server.terminate()
        cls.server.wait()
        cls.server.stdout.close()

    def setUp(self):
        self.session = Session(self.context, self.main)
        self.addCleanup(self.session.client.close)

    def expect(self, reply, status=OK):
        text = reply.text if reply.header.status != OK else ""
        self.assertEqual(reply.header.status, status, text)
        return reply

    # Greeting.

    def test_hello_names_versions_place_and_lanes(self):
        hello = self.session.hello
        self.assertEqual((hello.version_min, hello.version_max), (1, 2))
        self.assertEqual((hello.server, hello.servers), (0, 1))
        self.assertEqual(len(hello.ports), LANES)
        self.assertEqual(hello.incarnation % 2**16, 1)  # the first boot of its lineage

    def test_hello_with_full_brings_a_block_of_endpoints_for_each_lane(self):
        reply = self.expect(self.session.client.call(
            self.main, HELLO, [wire.hello_request("with full")], version=1, flags=FULL))
        self.assertIn(len(reply.frames), (1, 2))
        if len(reply.frames) == 2:
            blocks = wire.decode_blocks(reply.frames[1])
            self.assertEqual(len(blocks), LANES)
            for block in blocks:
                self.assertRegex(block, rb"^(shm://.+)?$")

    def test_the_shard_map_gives_each_lane_shards(self):
        shard_map = self.session.map
        self.assertEqual(shard_map.lanes, [(0, lane) for lane in range(LANES)])
        self.assertEqual(set(shard_map.owners), set(range(LANES)))

    def test_a_reply_brings_nonce_and_incarnation_of_the_boot_and_echoes_the_trace(self):
        reply = self.expect(self.session.client.call(
            self.main, PING, trace=0xDEADBEEF, incarnation=self.session.hello.incarnation,
            word_148=self.session.nonce))
        self.assertEqual(reply.header.trace, 0xDEADBEEF)
        self.assertEqual(reply.header.word_148, self.session.nonce)
        self.assertEqual(reply.header.incarnation, self.session.hello.incarnation)

    # Tables.

    def test_a_table_is_listed_from_its_creation_until_it_is_dropped(self):
        session = self.session
        session.create_table("listed", dim=3)
        for lane in range(LANES):
            tables = session.client.call(session.lane_endpoint(lane), LIST_TABLES)
            self.assertEqual(wire.decode_definitions(tables.frames[0])["listed"], 3)
            self.expect(session.write(lane, DROP_TABLE, "listed"))
            tables = session.client.call(session.lane_endpoint(lane), LIST_TABLES)
            self.assertNotIn("listed", wire.decode_definitions(tables.frames[0]))
            self.expect(session.ask(lane, STATS, "listed"), NOT_FOUND)

    def test_a_table_may_be_made_again_and_with_another_definition_exists(self):
        session = self.session
        session.create_table("again", dim=3)
        session.create_table("again", dim=3)
        definition = wire.table_definition("again", 4, RATE)
        self.expect(session.write(0, CREATE_TABLE, "again", [definition], word_148=0), EXISTS)

    def test_a_table_without_slower_tiers_has_no_use_for_hints(self):
        session = self.session
        session.create_table("hinted")
        keys = session.keys_of(0, KEYS)
        reply = self.expect(session.ask(0, PREFETCH, "hinted", [wire.u64s(keys)], count=len(keys)))
        self.assertTrue(reply.header.flags & DONE)

    def test_a_push_runs_the_rule_once_for_each_key_and_a_pull_sees_it(self):
        session = self.session
        session.create_table("pushed")
        for lane in range(LANES):
            one, other, missing = session.keys_of(lane, KEYS)[:3]
            keys = wire.u64s([one, other, one])
            gradients = wire.floats([1, 2, 3, 4, 0.25, -0.5])
            self.expect(session.write(lane, PUSH, "pushed", [keys, gradients], count=3, width=2,
                                      step=1))
            expected = {one: [-RATE * 1.25, -RATE * 1.5], other: [-RATE * 3, -RATE * 4],
                        missing: [0, 0]}
            self.assertEqual(session.pull(lane, "pushed", list(expected)), expected)
            self.assertEqual(session.pull(lane, "pushed", list(expected), version=1), expected)

    def test_a_pull_with_full_says_which_keys_have_a_row(self):
        session = self.session
        session.create_table("existing")
        one, missing = session.keys_of(0, KEYS)[:2]
        self.expect(session.push(0, "existing", {one: [0, 0]}))
        reply = self.expect(session.ask(0, PULL, "existing", [wire.u64s([missing, one])], count=2,
                                        width=2, flags=FULL))
        self.assertEqual(wire.unpack_all("f", reply.frames[0]), [0, 0, 0, 0])
        self.assertEqual(reply.frames[1], b"\0\1")

    def test_a_push_pull_answers_with_rows_as_they_are_after_the_push(self):
        session = self.session
        session.create_table("push_pulled")
        one, other = session.keys_of(0, KEYS)[:2]
        frames = [wire.u64s([one]), wire.floats([2, -4]), wire.u64s([other, one, one])]
        reply = self.expect(session.write(0, PUSH_PULL, "push_pulled", frames, count=1, width=2,
                                          step=1))
        self.assertEqual(wire.unpack_all("f", reply.frames[0]), [0, 0, -1, 2, -1, 2])

    def test_of_equal_keys_in_a_put_the_last_holds(self):
        session = self.session
        session.create_table("put")
        key = session.keys_of(1, KEYS)[0]
        frames = [wire.u64s([key, key]), wire.floats([1, 2, 3, 4])]
        self.expect(session.write(1, PUT, "put", frames, count=2, width=2))
        self.assertEqual(session.pull(1, "put", [key]), {key: [3, 4]})

    def test_an_erase_with_full_counts_rows_that_went(self):
        session = self.session
        session.create_table("erased")
        one, missing = session.keys_of(0, KEYS)[:2]
        self.expect(session.push(0, "erased", {one: [1, 1]}))
        reply = self.expect(session.write(0, ERASE, "erased", [wire.u64s([one, missing, one])],
                                          count=3, flags=FULL))
        self.assertEqual(wire.unpack_all("Q", reply.frames[0]), [1])
        self.assertEqual(session.pull(0, "erased", [one]), {one: [0, 0]})

    def test_a_scan_of_all_lanes_brings_every_row_once(self):
        session = self.session
        session.create_table("scanned")
        expected = {}
        found = {}
        for lane in range(LANES):
            keys = session.keys_of(lane, KEYS)
            self.assertGreater(len(keys), 2)
            self.expect(session.push(lane, "scanned", {key: [key, 1] for key in keys}))
            expected.update({key: [-RATE * key, -RATE] for key in keys})
            cursor, done = 0, False
            while not done:
                page = self.expect(session.ask(lane, SCAN, "scanned", count=3, cursor=cursor))
                keys = wire.unpack_all("Q", page.frames[0])
                self.assertEqual(page.header.count, len(keys))
                self.assertLessEqual(len(keys), 3)
                self.assertTrue(found.keys().isdisjoint(keys))
                found.update(rows_of(keys, page.frames[1]))
                cursor, done = page.header.cursor, page.header.flags & DONE
        self.assertEqual(found, expected)

    def test_a_scan_with_state_brings_the_optimizers_state_and_counters(self):
        session = self.session
        session.create_table("counted", optimizer=wire.ADAGRAD)
        key = session.keys_of(0, KEYS)[0]
        for step in (1, 2):
            self.expect(session.push(0, "counted", {key: [3, 0]}, step=step))
        page = self.expect(session.ask(0, SCAN, "counted", count=10, flags=WITH_STATE))
        keys, rows, counters = page.frames
        self.assertEqual((wire.unpack_all("Q", keys), page.header.width), ([key], 4))
        value, other, state, state_of_other = wire.unpack_all("f", rows)
        self.assertAlmostEqual(value, -RATE * 3 / 9**0.5 - RATE * 3 / 18**0.5, places=5)
        self.assertEqual((other, state, state_of_other), (0, 18, 0))  # the squares, summed
        frequency, cut, last_step = struct.unpack("<2IQ", counters)
        self.assertEqual((frequency, cut, last_step), (2, 0, 2))

    def test_stats_count_rows_lookups_and_updates(self):
        session = self.session
        session.create_table("stats")
        one, other, missing = session.keys_of(0, KEYS)[:3]
        self.expect(session.push(0, "stats", {one: [1, 1], other: [1, 1]}))
        session.pull(0, "stats", [one, missing])
        reply = self.expect(session.ask(0, STATS, "stats"))
        rows, size, lookups, hits, updates, steps, rejected = wire.unpack_all("Q", reply.frames[0])
        self.assertEqual((rows, lookups, hits, updates, rejected), (2, 2, 1, 2, 0))
        self.assertGreater(size, 0)

    def test_a_repeat_under_its_sequence_is_answered_again_and_not_applied_again(self):
        session = self.session
        session.create_table("repeated")
        key = session.keys_of(0, KEYS)[0]
        sequence = session.client.next_sequence(session.lane_endpoint(0))
        for _ in range(3):
            self.expect(session.push(0, "repeated", {key: [1, 2]}, sequence=sequence,
                                     settled_below=sequence))
        self.assertEqual(session.pull(0, "repeated", [key]), {key: [-RATE, -2 * RATE]})

    def test_a_client_that_left_cannot_write_any_more(self):
        session = self.session
        session.create_table("left")
        key = session.keys_of(0, KEYS)[0]
        self.expect(session.client.call(session.lane_endpoint(0), LEAVE))
        self.expect(session.push(0, "left", {key: [1, 2]}), wire.SESSION_EXPIRED)

    # Refusals.

    def test_another_cluster_is_refused(self):
        client = wire.Client(self.context, "another cluster")
        self.addCleanup(client.close)
        self.expect(client.call(self.main, HELLO, [wire.hello_request("x")], version=1), REFUSED)

    def test_another_epoch_is_refused(self):
        session = self.session
        session.create_table("epochs")
        key = session.keys_of(0, KEYS)[0]
        for command, frames in ((PULL, [wire.u64s([key])]), (SCAN, [])):
            reply = session.ask(0, command, "epochs", frames, count=1, width=2,
                                epoch=session.map.epoch + 1)
            self.expect(reply, REFUSED)

    def test_a_key_of_another_lane_is_refused(self):
        session = self.session
        session.create_table("foreign")
        key = session.keys_of(1, KEYS)[0]
        reply = session.ask(0, PULL, "foreign", [wire.u64s([key])], count=1, width=2)
        self.expect(reply, REFUSED)

    def test_another_name_check_finds_no_table(self):
        session = self.session
        session.create_table("named")
        _, check = wire.id_and_check("named", wire.TABLE_SEED)
        for command in (STATS, SCAN, DROP_TABLE):
            call = session.write if command == DROP_TABLE else session.ask
            reply = call(0, command, "named", count=1, word_148=(check + 1) % 2**32)
            self.expect(reply, NOT_FOUND)
        self.expect(session.ask(0, STATS, "named"))

    def test_a_request_that_cannot_be_read_is_answered_with_what_is_wrong(self):
        for status, wrong in ((REFUSED, {"version": 3}), (INVALID, {"flags": 1 << 20}),
                              (INVALID, {"reserved_14": 1}), (INVALID, {"body_bytes": 8}),
                              (INVALID, {"version": 1, "trace": 1}), (INVALID, {"status": 1}),
                              (CORRUPT, {"body_checksum": 0})):
            with self.subTest(wrong=wrong):
                self.expect(self.session.client.call(self.main, PING, echoed=wire.ECHOED_UNREAD,
                                                     **wrong), status)

    def test_a_reply_is_in_the_nearest_version_that_the_server_speaks(self):
        for asked, answered in ((0, 1), (1, 1), (2, 2), (3, 2)):
            reply = self.session.client.call(self.main, PING, echoed=wire.ECHOED_UNREAD,
                                             version=asked)
            self.assertEqual(reply.header.version, answered)

    def test_another_nonce_of_its_boot_and_another_lineage_are_lost(self):
        session = self.session
        incarnation = session.hello.incarnation
        self.expect(session.client.call(self.main, PING, incarnation=incarnation,
                                        word_148=session.nonce ^ 1), LOST)
        self.expect(session.client.call(self.main, PING, incarnation=incarnation ^ 1 << 16), LOST)

    def test_a_payload_that_is_shorter_than_its_count_says_is_invalid(self):
        session = self.session
        session.create_table("short")
        self.expect(session.ask(0, PULL, "short", [wire.u64s([1])], count=2, width=2), INVALID)

    # Collections.

    def change(self, lane, name, changes):
        return self.session.write(lane, CHANGE_ITEMS, name, [b"".join(changes)],
                                  count=len(changes), seed=wire.COLLECTION_SEED)

    def test_documents_that_were_put_in_are_read_and_scanned_until_they_go(self):
        session = self.session
        session.create_collection("read", ["price"])
        for lane in range(LANES):
            one, other, missing = session.keys_of(lane, KEYS)[:3]
            self.expect(self.change(lane, "read", [
                wire.item_change(wire.PUT_IN, one, [1, 2, 3], [-7]),
                wire.item_change(wire.PUT_IN, other, [4, 5], [2**40])]))
            reply = self.expect(session.ask(lane, READ_ITEMS, "read", [wire.u64s([one, missing])],
                                            count=2, seed=wire.COLLECTION_SEED))
            self.assertEqual(reply.header.count, 1)
            self.assertEqual(wire.decode_item_changes(reply.frames[0]), {one: ([1, 2, 3], [-7])})
            self.expect(self.change(lane, "read", [wire.item_change(wire.GONE, one)]))
            self.assertEqual(self.scan_items(lane, "read"), {other: ([4, 5], [2**40])})

    def scan_items(self, lane, name):
        documents, cursor, done = {}, 0, False
        while not done:
            page = self.expect(self.session.ask(lane, SCAN_ITEMS, name, count=1, cursor=cursor,
                                                seed=wire.COLLECTION_SEED))
            found = wire.decode_item_changes(page.frames[0])
            self.assertEqual(page.header.count, len(found))
            self.assertTrue(documents.keys().isdisjoint(found))
            documents.update(found)
            cursor, done = page.header.cursor, page.header.flags & DONE
        return documents

    def search(self, lane, name, terms, queries):
        reply = self.expect(self.session.ask(lane, SEARCH, name,
                                             [terms, *wire.search_query(queries)],
                                             count=len(queries), seed=wire.COLLECTION_SEED))
        return wire.decode_hits(*reply.frames)

    def test_a_search_finds_the_most_alike_documents_best_first(self):
        session = self.session
        session.create_collection("searched", ["price"])
        one, two, three = sorted(session.keys_of(0, KEYS)[:3])
        self.expect(self.change(0, "searched", [
            wire.item_change(wire.PUT_IN, one, [1, 2, 3, 4], [10]),
            wire.item_change(wire.PUT_IN, two, [1, 2, 9], [20]),
            wire.item_change(wire.PUT_IN, three, [8, 9], [30])]))
        jaccard = 2
        hits = self.search(0, "searched", wire.search_terms(jaccard, k=2),
                           [[4, 3, 2, 1], [9], [2, 2, 1]])
        self.assertEqual(hits, [[(one, 4, 4), (two, 2, 3)], [(three, 1, 2), (two, 1, 3)],
                                [(two, 2, 3), (one, 2, 4)]])
        alike = wire.search_terms(jaccard, k=0xFFFFFFFF, least=(1, 2))
        self.assertEqual(self.search(0, "searched", alike, [[1, 2]]), [[(two, 2, 3), (one, 2, 4)]])
        cheap = wire.search_terms(jaccard, k=5, least=(1, 100), ranges=[(0, 0, 15)])
        self.assertEqual(self.search(0, "searched", cheap, [[1, 2]]), [[(one, 2, 4)]])

    def test_a_collection_is_listed_and_counted_until_it_is_dropped(self):
        session = self.session
        session.create_collection("kept")
        document = session.keys_of(0, KEYS)[0]
        self.expect(self.change(0, "kept", [wire.item_change(wire.PUT_IN, document, [1])]))
        stats = self.expect(session.ask(0, COLLECTION_STATS, "kept", seed=wire.COLLECTION_SEED))
        self.assertEqual(wire.unpack_all("Q", stats.frames[0])[0], 1)
        for lane in range(LANES):
            listed = session.client.call(session.lane_endpoint(lane), LIST_COLLECTIONS)
            self.assertIn(wire.collection_definition("kept"), listed.frames[0])
            self.expect(session.write(lane, DROP_COLLECTION, "kept", seed=wire.COLLECTION_SEED))
            reply = session.ask(lane, READ_ITEMS, "kept", [wire.u64s([document])], count=1,
                                seed=wire.COLLECTION_SEED)
            self.expect(reply, NOT_FOUND)


if __name__ == "__main__":
    ProtocolPage.program = sys.argv.pop(1)
    unittest.main()
