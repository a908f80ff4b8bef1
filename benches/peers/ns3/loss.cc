// SPDX-License-Identifier: GPL-2.0-only
//
// This file is an optional benchmark. It links ns-3, is licensed on its own
// terms as stated above, and is not part of the project that is offered under
// the Apache-2.0 and MIT licences.
//
// One long TCP flow of ns-3 over a link that loses data segments at random,
// against the law of Mathis et al.: C / sqrt(p) segments a round trip. See
// README.md beside this file.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <cmath>
#include <cstdio>
#include <string>

using namespace ns3;

namespace
{

constexpr double kMss = 1460;

uint64_t g_timeouts = 0;
uint64_t g_recoveries = 0;

void
CountStates(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
{
    g_timeouts += now == TcpSocketState::CA_LOSS;
    g_recoveries += now == TcpSocketState::CA_RECOVERY;
}

} // namespace

int
main(int argc, char** argv)
{
    double p = 1e-2;
    uint32_t each = 1;
    double seconds = 1000;
    uint32_t run = 1;
    std::string control = "TcpNewReno";
    std::string recovery = "TcpPrrRecovery";
    CommandLine cmd;
    cmd.AddValue("p", "probability that a data segment is lost", p);
    cmd.AddValue("each", "segments per acknowledgement", each);
    cmd.AddValue("seconds", "simulated time; the first twentieth is not counted", seconds);
    cmd.AddValue("run", "number of the random stream", run);
    cmd.AddValue("control", "TcpNewReno or TcpLinuxReno", control);
    cmd.AddValue("recovery", "TcpPrrRecovery or TcpClassicRecovery", recovery);
    cmd.Parse(argc, argv);

    RngSeedManager::SetRun(run);
    const UintegerValue buffer(4 << 20);
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kMss));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(each));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", buffer);
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", buffer);
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName("ns3::" + control)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TypeId::LookupByName("ns3::" + recovery)));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    link.SetChannelAttribute("Delay", StringValue("5ms"));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
    const NetDeviceContainer devices = link.Install(nodes);
    Ptr<RateErrorModel> errors = CreateObject<RateErrorModel>();
    errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    errors->SetRate(p);
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.0.0.0");
    const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);

    const InetSocketAddress to(interfaces.GetAddress(1), 9);
    PacketSinkHelper sinks("ns3::TcpSocketFactory", to);
    Ptr<PacketSink> sink = DynamicCast<PacketSink>(sinks.Install(nodes.Get(1)).Get(0));
    BulkSendHelper bulk("ns3::TcpSocketFactory", to);
    bulk.SetAttribute("MaxBytes", UintegerValue(0));
    bulk.SetAttribute("SendSize", UintegerValue(64 * kMss));
    bulk.Install(nodes.Get(0)).Start(MilliSeconds(1));

    const Time warm = Seconds(seconds / 20);
    uint64_t before = 0;
    Simulator::Schedule(MilliSeconds(2), [] {
        Config::ConnectWithoutContext("/NodeList/0/$ns3::TcpL4Protocol/SocketList/*/CongState",
                                      MakeCallback(&CountStates));
    });
    Simulator::Schedule(warm, [&] { before = sink->GetTotalRx(); });
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    const double segments = static_cast<double>(sink->GetTotalRx() - before) / kMss;
    const double c = segments / (seconds - warm.GetSeconds()) * 0.01 * std::sqrt(p);
    const double law = each == 1 ? 1.31 : 0.93;
    std::printf("%s, %s, p %g, an acknowledgement for %u: C %.3f (%+.1f %% of %.2f); "
                "%.0f segments, %lu recoveries, %lu timeouts\n",
                control.c_str(),
                recovery.c_str(),
                p,
                each,
                c,
                100 * (c / law - 1),
                law,
                segments,
                static_cast<unsigned long>(g_recoveries),
                static_cast<unsigned long>(g_timeouts));
    Simulator::Destroy();
    return 0;
}
