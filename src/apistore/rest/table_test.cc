#include "apistore/rest/table.h"

#include <gtest/gtest.h>

#include "apistore/rest/human_duration.h"
#include "base/time.h"

namespace strake::apistore::rest::table_test {

using namespace std::chrono_literals;

const WallTime kNow = *parse_rfc3339("2026-03-01T12:00:00Z");

json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  STRAKE_INVARIANT(value.ok());
  return *std::move(value);
}

const Registry& registry() {
  static const Registry kRegistry = *Registry::standard();
  return kRegistry;
}

/// The cells of an object of one of the program's own kinds, in their default version.
std::string cells_of(std::string_view group, std::string_view plural, std::string_view object) {
  const Kind* kind = registry().find(group, plural);
  STRAKE_INVARIANT(kind != nullptr);
  const auto layout = TableLayout::make(*kind, kind->storage());
  STRAKE_INVARIANT(layout.ok());
  const json::Value value = parsed(object);
  EXPECT_EQ(layout->cells(value, kNow).size(), layout->columns().size());
  return json::write(layout->cells(value, kNow));
}

TEST(HumanDuration, HasTwoOrThreeFigures) {
  const std::vector<std::pair<std::chrono::seconds, const char*>> cases = {
      {-5s, "<invalid>"}, {-1s, "0s"},         {0s, "0s"},        {119s, "119s"},      {120s, "2m"},
      {150s, "2m30s"},    {599s, "9m59s"},     {600s, "10m"},     {179min, "179m"},    {180min, "3h"},
      {185min, "3h5m"},   {8h, "8h"},          {47h, "47h"},      {48h, "2d"},         {50h, "2d2h"},
      {24h * 8, "8d"},    {24h * 729, "729d"}, {24h * 730, "2y"}, {24h * 735, "2y5d"}, {24h * 365 * 8, "8y"},
  };
  for (const auto& [age, expected] : cases) EXPECT_EQ(human_duration(age), expected) << age.count();
  EXPECT_EQ(human_duration(-1500ms), "0s");
  EXPECT_EQ(human_age("", kNow), "<unknown>");
  EXPECT_EQ(human_age("yesterday", kNow), "<invalid>");
  EXPECT_EQ(human_age("2026-03-01T11:00:00Z", kNow), "60m");
}

TEST(Table, EveryKindOfTheProgramHasOne) {
  const auto tables = Tables::make(registry());
  ASSERT_TRUE(tables.ok()) << tables.error().to_string();
  for (const Kind& kind : registry().kinds()) {
    for (const KindVersion& version : kind.versions)
      EXPECT_GE(tables->layout(kind, version).columns().size(), 2u) << kind.kind;
  }
}

TEST(Table, PrinterColumnsAreTypedLookups) {
  EXPECT_EQ(cells_of("machineconfiguration.openshift.io", "machineconfigpools", R"({
    "metadata": {"name": "worker", "creationTimestamp": "2026-03-01T11:55:00Z"},
    "status": {"configuration": {"name": "rendered-worker-1"}, "machineCount": 3, "readyMachineCount": "three",
               "conditions": [{"type": "Updating", "status": "False"}, {"type": "Updated", "status": "True"}]}})"),
            R"(["worker","rendered-worker-1","True","False",null,3,null,null,null,"5m"])");
}

TEST(Table, AKindWithoutColumnsShowsItsAge) {
  Kind kind;
  kind.plural = "things";
  KindVersion version;
  version.name = "v1";
  const auto layout = TableLayout::make(kind, version);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(json::write(
                layout->cells(parsed(R"({"metadata":{"name":"a","creationTimestamp":"2026-02-27T12:00:00Z"}})"), kNow)),
            R"(["a","2d"])");
  EXPECT_EQ(json::write(layout->cells(parsed(R"({"metadata":{"name":"a"}})"), kNow)), R"(["a",null])");
}

TEST(Table, StringColumnsPrintOtherValuesAsJson) {
  Kind kind;
  KindVersion version;
  version.columns = {{"A", "string", "", "", ".a", 0},
                     {"B", "integer", "", "", ".b", 0},
                     {"C", "number", "", "", ".c", 1},
                     {"D", "boolean", "", "", ".d", 0},
                     {"E", "date", "", "", ".e", 0}};
  const auto layout = TableLayout::make(kind, version);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(json::write(layout->cells(parsed(R"({"a":{"z":1,"y":[2]},"b":2.9,"c":2.5,"d":true,"e":"soon"})"), kNow)),
            R"(["","{\"y\":[2],\"z\":1}",2,2.5,true,"<invalid>"])");
  EXPECT_EQ(json::write(layout->cells(parsed(R"({"a":7,"b":"x","c":"x","d":"x","e":5})"), kNow)),
            R"(["","7",null,null,null,null])");
  EXPECT_EQ(layout->columns()[3].at("priority"), 1);
}

TEST(Table, AColumnThatCannotBeReadIsNamed) {
  Kind kind;
  KindVersion version;
  version.columns = {{"Broken", "string", "", "", "no dot", 0}};
  const auto layout = TableLayout::make(kind, version);
  ASSERT_FALSE(layout.ok());
  EXPECT_NE(layout.error().to_string().find("printer column Broken"), std::string::npos) << layout.error().to_string();
  kind.table = "nonsense";
  EXPECT_FALSE(TableLayout::make(kind, version).ok());
}

TEST(BuiltinTable, Nodes) {
  EXPECT_EQ(
      cells_of("", "nodes", R"({
    "metadata": {"name": "n1", "creationTimestamp": "2026-03-01T11:58:00Z",
                 "labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/infra": "", "kubernetes.io/role": "x"}},
    "spec": {"unschedulable": true},
    "status": {"conditions": [{"type": "Ready", "status": "True"}],
               "addresses": [{"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "10.0.0.1"}],
               "nodeInfo": {"kubeletVersion": "v1.34.4", "osImage": "Fedora", "kernelVersion": "6.1"}}})"),
      R"(["n1","Ready,SchedulingDisabled","infra,worker,x","2m","v1.34.4","10.0.0.1","<none>","Fedora","6.1","<unknown>"])");
  EXPECT_EQ(cells_of("", "nodes", R"({"metadata":{"name":"n2"}})"),
            R"(["n2","Unknown","<none>","<unknown>","","<none>","<none>","<unknown>","<unknown>","<unknown>"])");
  EXPECT_EQ(cells_of("", "nodes",
                     R"({"metadata":{"name":"n3"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})"),
            R"(["n3","NotReady","<none>","<unknown>","","<none>","<none>","<unknown>","<unknown>","<unknown>"])");
}

struct PodCase {
  const char* name;
  const char* pod;
  const char* ready;
  const char* status;
  const char* restarts;
};
class PodTableTest : public testing::TestWithParam<PodCase> {};

TEST_P(PodTableTest, SaysWhatThePodDoes) {
  const json::Value cells = parsed(cells_of("", "pods", GetParam().pod));
  EXPECT_EQ(cells.at(1).as_string(), GetParam().ready);
  EXPECT_EQ(cells.at(2).as_string(), GetParam().status);
  EXPECT_EQ(cells.at(3).as_string(), GetParam().restarts);
}

INSTANTIATE_TEST_SUITE_P(
    All, PodTableTest,
    testing::Values(
        PodCase{"Pending", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]},"status":{"phase":"Pending"}})", "0/2",
                "Pending", "0"},
        PodCase{"Running",
                R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]},"status":{"phase":"Running","containerStatuses":[
          {"name":"a","ready":true,"restartCount":2,"state":{"running":{}},
           "lastState":{"terminated":{"finishedAt":"2026-03-01T11:00:00Z"}}},
          {"name":"b","ready":false,"restartCount":0,"state":{"running":{}}}]}})",
                "1/2", "Running", "2 (60m ago)"},
        PodCase{"CrashLoop", R"({"spec":{"containers":[{"name":"a"}]},"status":{"phase":"Running","containerStatuses":[
          {"name":"a","restartCount":9,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}})",
                "0/1", "CrashLoopBackOff", "9"},
        PodCase{"ExitCode", R"({"spec":{"containers":[{"name":"a"}]},"status":{"phase":"Failed","containerStatuses":[
          {"name":"a","state":{"terminated":{"exitCode":3}}}]}})",
                "0/1", "ExitCode:3", "0"},
        PodCase{"Signal", R"({"spec":{"containers":[{"name":"a"}]},"status":{"phase":"Failed","containerStatuses":[
          {"name":"a","state":{"terminated":{"signal":9}}}]}})",
                "0/1", "Signal:9", "0"},
        PodCase{"OneDoneOneRuns", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]},"status":{"phase":"Running",
          "conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[
          {"name":"a","state":{"terminated":{"reason":"Completed"}}},{"name":"b","ready":true,"state":{"running":{}}}]}})",
                "1/2", "NotReady", "0"},
        PodCase{"Initializing", R"({"spec":{"containers":[{"name":"a"}],"initContainers":[{"name":"i"},{"name":"j"}]},
          "status":{"phase":"Pending","initContainerStatuses":[
          {"name":"i","restartCount":1,"state":{"terminated":{"exitCode":0}}},{"name":"j","state":{"waiting":{"reason":"PodInitializing"}}}]}})",
                "0/1", "Init:1/2", "1"},
        PodCase{"InitFailed", R"({"spec":{"containers":[{"name":"a"}],"initContainers":[{"name":"i"}]},
          "status":{"phase":"Pending","initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":1,"reason":"Error"}}}]}})",
                "0/1", "Init:Error", "0"},
        PodCase{"Sidecar",
                R"({"spec":{"containers":[{"name":"a"}],"initContainers":[{"name":"s","restartPolicy":"Always"}]},
          "status":{"phase":"Running","initContainerStatuses":[{"name":"s","started":true,"ready":true,"restartCount":4,"state":{"running":{}}}],
          "containerStatuses":[{"name":"a","ready":true,"restartCount":1,"state":{"running":{}}}]}})",
                "2/2", "Running", "5"},
        PodCase{"Evicted", R"({"spec":{"containers":[{"name":"a"}]},"status":{"phase":"Failed","reason":"Evicted"}})",
                "0/1", "Evicted", "0"},
        PodCase{"Terminating",
                R"({"metadata":{"deletionTimestamp":"2026-03-01T11:00:00Z"},"spec":{"containers":[{"name":"a"}]},
          "status":{"phase":"Running"}})",
                "0/1", "Terminating", "0"},
        PodCase{"TerminatingButDone",
                R"({"metadata":{"deletionTimestamp":"2026-03-01T11:00:00Z"},"spec":{"containers":[{"name":"a"}]},
          "status":{"phase":"Succeeded"}})",
                "0/1", "Succeeded", "0"},
        PodCase{"Gated", R"({"spec":{"containers":[{"name":"a"}]},"status":{"phase":"Pending",
          "conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]}})",
                "0/1", "SchedulingGated", "0"}),
    [](const auto& tested) { return tested.param.name; });

TEST(BuiltinTable, TheSmallOnes) {
  EXPECT_EQ(cells_of("", "secrets", R"({"metadata":{"name":"s"},"type":"Opaque","data":{"a":"","b":""}})"),
            R"(["s","Opaque",2,"<unknown>"])");
  EXPECT_EQ(cells_of("", "configmaps", R"({"metadata":{"name":"c"},"data":{"a":""},"binaryData":{"b":""}})"),
            R"(["c",2,"<unknown>"])");
  EXPECT_EQ(cells_of("", "namespaces", R"({"metadata":{"name":"n"},"status":{"phase":"Active"}})"),
            R"(["n","Active","<unknown>"])");
  EXPECT_EQ(cells_of("coordination.k8s.io", "leases", R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"me"}})"),
            R"(["l","me","<unknown>"])");
  EXPECT_EQ(cells_of("policy", "poddisruptionbudgets",
                     R"({"metadata":{"name":"b"},"spec":{"minAvailable":2},"status":{"disruptionsAllowed":1}})"),
            R"(["b","2","N/A",1,"<unknown>"])");
  EXPECT_EQ(cells_of("policy", "poddisruptionbudgets", R"({"metadata":{"name":"b"},"spec":{"maxUnavailable":"25%"}})"),
            R"(["b","N/A","25%",0,"<unknown>"])");
}

TEST(BuiltinTable, EventsOldAndNew) {
  EXPECT_EQ(
      cells_of("", "events", R"({"metadata":{"name":"e"},"type":"Warning","reason":"Failed","message":" went wrong \n",
    "involvedObject":{"kind":"Node","name":"n1","fieldPath":"spec"},"source":{"component":"agent","host":"h"},"count":3,
    "firstTimestamp":"2026-03-01T10:00:00Z","lastTimestamp":"2026-03-01T11:59:00Z"})"),
      R"(["60s","Warning","Failed","node/n1","spec","agent, h","went wrong","120m",3,"e"])");
  EXPECT_EQ(
      cells_of("", "events",
               R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Node"},"eventTime":"2026-03-01T11:00:00.000000Z",
    "reportingComponent":"c","series":{"count":5,"lastObservedTime":"2026-03-01T11:59:30.000000Z"}})"),
      R"(["30s","","","node","","c","","60m",5,"e"])");
}

TEST(Table, CarriesMetadataObjectOrNothing) {
  const Kind* kind = registry().find("", "configmaps");
  const auto layout = TableLayout::make(*kind, kind->storage());
  ASSERT_TRUE(layout.ok());
  const json::Value object =
      parsed(R"({"kind":"ConfigMap","metadata":{"name":"c","resourceVersion":"7"},"data":{"secret":"value"}})");
  TableOptions options{.now = kNow};
  json::Value table = parsed(layout->table_of(object, options));
  EXPECT_EQ(table.at("kind").as_string(), "Table");
  EXPECT_EQ(table.at("apiVersion").as_string(), "meta.k8s.io/v1");
  EXPECT_EQ(table.at("metadata").at("resourceVersion").as_string(), "7");
  EXPECT_EQ(table.at("columnDefinitions").as_array().size(), 3u);
  EXPECT_EQ(
      json::write(table.at("rows").at(0).at("object")),
      R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"c","resourceVersion":"7"}})");

  options.include = IncludeObject::kObject;
  options.headers = false;
  table = parsed(layout->table_of(object, options));
  EXPECT_TRUE(table.at("columnDefinitions").is_null());
  EXPECT_EQ(table.at("rows").at(0).at("object"), object);

  options.include = IncludeObject::kNone;
  EXPECT_TRUE(parsed(layout->table_of(object, options)).at("rows").at(0).at("object").is_null());
}

TEST(Table, OfAList) {
  const Kind* kind = registry().find("", "configmaps");
  const auto layout = TableLayout::make(*kind, kind->storage());
  ASSERT_TRUE(layout.ok());
  const ListMetadata metadata{"12", "next", 4};
  const auto text =
      layout->table_of_list({R"({"metadata":{"name":"a"}})", R"({"metadata":{"name":"b"}})"}, metadata, {.now = kNow});
  ASSERT_TRUE(text.ok());
  const json::Value table = parsed(*text);
  EXPECT_EQ(json::write(table.at("metadata")), R"({"resourceVersion":"12","continue":"next","remainingItemCount":4})");
  EXPECT_EQ(table.at("rows").as_array().size(), 2u);
  EXPECT_EQ(table.at("rows").at(1).at("cells").at(0).as_string(), "b");
  EXPECT_EQ(layout->table_of_list({"{"}, metadata, {.now = kNow}).error().code(), Code::kCorrupt);
}

TEST(Table, IncludeObjectIsParsed) {
  EXPECT_EQ(*parse_include_object(""), IncludeObject::kMetadata);
  for (const auto include : {IncludeObject::kNone, IncludeObject::kMetadata, IncludeObject::kObject}) {
    EXPECT_EQ(*parse_include_object(to_string(include)), include);
  }
  const auto wrong = parse_include_object("Everything");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().reason(), "BadRequest");
}

}  // namespace strake::apistore::rest::table_test
